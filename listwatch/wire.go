package listwatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// typeMeta is the apiVersion and kind that the wire names, empty where it names none. It points into the wire's bytes.
type typeMeta struct {
	apiVersion, kind []byte
}

func (tm typeMeta) String() string {
	return strings.TrimSpace(string(tm.apiVersion) + " " + string(tm.kind))
}

// listParts are the pieces of a list, not decoded yet.
type listParts struct {
	typeMeta typeMeta
	meta     metav1.ListMeta
	items    [][]byte
}

// wireFormat takes events and lists apart. It is chosen by the Content-Type of the answer, whatever was asked for. Which
// type the objects are decoded into is the codec's business.
type wireFormat interface {
	frames(r io.Reader, limit int) frameReader
	// splitEvent points into frame.
	splitEvent(frame []byte) (eventType, object []byte, err error)
	// framed tells whether the frame after an unreadable one can be trusted to be one.
	framed(frame []byte) bool
	// splitList points into body.
	splitList(body []byte) (listParts, error)
	// objectMeta reads the metadata of any kind of object.
	objectMeta(object []byte) (metav1.ObjectMeta, error)
	// salvage reads what it can of the name of an object that cannot be decoded.
	salvage(object []byte, enveloped bool) (key Key, resourceVersion string)
	// status reads a metav1.Status.
	status(object []byte) (*metav1.Status, error)
}

// formatOf chooses by the Content-Type of an answer. An answer without one is JSON, as it is for client-go.
func formatOf(contentType string) (wireFormat, error) {
	if contentType == "" {
		return jsonFormat{}, nil
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("the server's Content-Type %q cannot be read: %w", contentType, err)
	}
	if params["as"] == "Table" {
		return nil, errTable
	}
	switch mediaType {
	case runtime.ContentTypeJSON:
		return jsonFormat{}, nil
	case runtime.ContentTypeProtobuf:
		return protobufFormat{}, nil
	}
	return nil, fmt.Errorf("the server answered with Content-Type %q, which is neither JSON nor Kubernetes protobuf", contentType)
}

var errTable = errors.New("the server answered with a Table, which is for printing: its rows are no objects")

// jsonFormat is application/json.
type jsonFormat struct{}

func (jsonFormat) frames(r io.Reader, limit int) frameReader {
	return &jsonFrames{newFrameBuffer(r, limit)}
}

func (jsonFormat) splitEvent(frame []byte) (eventType, object []byte, err error) {
	c, err := enterJSON(frame, '{')
	for err == nil {
		var name, value []byte
		var ok bool
		if name, value, ok, err = c.member(); !ok {
			break
		}
		switch string(name) {
		case "type":
			eventType, err = unquoteJSON(value)
		case "object":
			object = value
		}
	}
	return eventType, object, err
}

// framed: brackets that happen to balance prove little; a whole JSON value does.
func (jsonFormat) framed(frame []byte) bool { return json.Valid(frame) }

func (jsonFormat) splitList(body []byte) (parts listParts, err error) {
	var items []byte
	c, err := enterJSON(body, '{')
	for err == nil {
		var name, value []byte
		var ok bool
		if name, value, ok, err = c.member(); !ok {
			break
		}
		switch string(name) {
		case "apiVersion":
			parts.typeMeta.apiVersion, err = unquoteJSON(value)
		case "kind":
			parts.typeMeta.kind, err = unquoteJSON(value)
		case "metadata":
			err = utiljson.Unmarshal(value, &parts.meta)
		case "items":
			items = value
		}
	}
	if err != nil || items == nil || string(items) == "null" {
		return parts, err
	}
	c, err = enterJSON(items, '[')
	for err == nil {
		var item []byte
		var ok bool
		if item, ok, err = c.element(); !ok {
			break
		}
		parts.items = append(parts.items, item)
	}
	return parts, err
}

func (jsonFormat) objectMeta(object []byte) (metav1.ObjectMeta, error) {
	var partial metav1.PartialObjectMetadata
	err := utiljson.Unmarshal(object, &partial)
	return partial.ObjectMeta, err
}

func (jsonFormat) salvage(object []byte, _ bool) (key Key, resourceVersion string) {
	whole := true
	_ = eachJSON(object, func(name string, value []byte) {
		if name != "metadata" {
			return
		}
		err := eachJSON(value, func(name string, value []byte) {
			s, err := unquoteJSON(value)
			switch name {
			case "name":
				key.Name, whole = string(s), whole && err == nil
			case "namespace":
				key.Namespace, whole = string(s), whole && err == nil
			case "resourceVersion":
				resourceVersion = string(s)
			}
		})
		whole = whole && err == nil
	})
	if !whole {
		key = Key{}
	}
	return salvaged(key, resourceVersion)
}

// eachJSON visits the members of an object up to the first thing it cannot read. visit must not keep value.
func eachJSON(object []byte, visit func(name string, value []byte)) error {
	c, err := enterJSON(object, '{')
	for err == nil {
		var name, value []byte
		var ok bool
		if name, value, ok, err = c.member(); !ok {
			break
		}
		visit(string(name), value)
	}
	return err
}

func (jsonFormat) status(object []byte) (*metav1.Status, error) {
	// The kind first: many kinds have a field named status, which is no string.
	var says metav1.TypeMeta
	if err := utiljson.Unmarshal(object, &says); err != nil {
		return nil, err
	}
	if says.Kind != "" && says.Kind != "Status" {
		return nil, fmt.Errorf("a Status was expected, not a %s %s", says.APIVersion, says.Kind)
	}
	status := &metav1.Status{}
	if err := utiljson.Unmarshal(object, status); err != nil {
		return nil, err
	}
	return status, nil
}

// protobufFormat is application/vnd.kubernetes.protobuf.
type protobufFormat struct{}

func (protobufFormat) frames(r io.Reader, limit int) frameReader {
	return &lengthFrames{newFrameBuffer(r, limit)}
}

// splitEvent: the frame is a bare metav1.WatchEvent; only the object in it has an envelope.
func (protobufFormat) splitEvent(frame []byte) (eventType, object []byte, err error) {
	var extension []byte
	err = eachProtobuf(frame, func(field uint64, value []byte) {
		switch field {
		case fieldWatchEventType:
			eventType = value
		case fieldWatchEventObject:
			extension = value
		}
	})
	if err != nil {
		return eventType, nil, err
	}
	err = eachProtobuf(extension, func(field uint64, value []byte) {
		if field == fieldRawExtensionRaw {
			object = value
		}
	})
	return eventType, object, err
}

// framed: the length before each frame says where the next one starts, whatever is in this one.
func (protobufFormat) framed([]byte) bool { return true }

func (protobufFormat) splitList(body []byte) (parts listParts, err error) {
	tm, raw, err := openProtobuf(body)
	if err != nil {
		return parts, err
	}
	parts.typeMeta = tm
	if len(tm.kind) > 0 && !bytes.HasSuffix(tm.kind, []byte("List")) {
		return parts, nil // its fields 1 and 2 are something else
	}
	var meta []byte
	err = eachProtobuf(raw, func(field uint64, value []byte) {
		switch field {
		case fieldListMeta:
			meta = value
		case fieldListItems:
			parts.items = append(parts.items, value)
		}
	})
	if err == nil {
		err = parts.meta.Unmarshal(meta)
	}
	return parts, err
}

func (protobufFormat) objectMeta(object []byte) (meta metav1.ObjectMeta, err error) {
	_, raw, err := openProtobuf(object)
	if err != nil {
		return meta, err
	}
	var metadata []byte
	err = eachProtobuf(raw, func(field uint64, value []byte) {
		if field == fieldObjectMeta {
			metadata = value
		}
	})
	if err == nil {
		err = meta.Unmarshal(metadata)
	}
	return meta, err
}

func (protobufFormat) salvage(object []byte, enveloped bool) (key Key, resourceVersion string) {
	if enveloped {
		_, object, _ = openProtobuf(object)
	}
	_ = eachProtobuf(object, func(field uint64, meta []byte) {
		if field != fieldObjectMeta {
			return
		}
		err := eachProtobuf(meta, func(field uint64, value []byte) {
			switch field {
			case fieldMetaName:
				key.Name = string(value)
			case fieldMetaNamespace:
				key.Namespace = string(value)
			case fieldMetaResourceVersion:
				resourceVersion = string(value)
			}
		})
		if err != nil {
			key = Key{}
		}
	})
	return salvaged(key, resourceVersion)
}

func (protobufFormat) status(object []byte) (*metav1.Status, error) {
	tm, raw, err := openProtobuf(object)
	if err != nil {
		return nil, err
	}
	if len(tm.kind) > 0 && string(tm.kind) != "Status" {
		return nil, fmt.Errorf("a Status was expected, not a %s", tm)
	}
	status := &metav1.Status{}
	if err := status.Unmarshal(raw); err != nil {
		return nil, err
	}
	return status, nil
}

// salvaged lets a key pass only with a name: half a key would name another object.
func salvaged(key Key, resourceVersion string) (Key, string) {
	if key.Name == "" {
		return Key{}, resourceVersion
	}
	return key, resourceVersion
}

// looksLikeProtobuf tells the two formats apart where no Content-Type can be trusted.
func looksLikeProtobuf(body []byte) bool { return bytes.HasPrefix(body, []byte(protobufPrefix)) }
