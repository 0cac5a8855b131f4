package listwatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// jsonFormat is application/json.
type jsonFormat struct{}

func (jsonFormat) frames(r io.Reader, limit int) frameReader {
	return &jsonFrames{frameBuffer: newFrameBuffer(r, limit)}
}

func (jsonFormat) splitEvent(frame []byte) (eventType, object []byte, err error) {
	c, err := enterJSON(frame, '{')
	odd := false
	for err == nil {
		var name, value []byte
		var ok bool
		if name, value, ok, err = c.member(); !ok {
			break
		}
		switch string(name) {
		case "type":
			odd = odd || eventType != nil
			eventType, err = unquoteJSON(value)
		case "object":
			odd, object = odd || object != nil, value
		default:
			odd = true
		}
	}
	// Of an odd event not everything is going to be decoded, which would tell what is no JSON.
	if err == nil && odd && !json.Valid(frame) {
		err = errors.New("no JSON, although its brackets balance")
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
