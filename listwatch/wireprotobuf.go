package listwatch

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// protobufFormat is application/vnd.kubernetes.protobuf. A message that comes in several pieces is all of them merged, as
// protobuf has it.
type protobufFormat struct{}

func (protobufFormat) frames(r io.Reader, limit int) frameReader {
	return &lengthFrames{newFrameBuffer(r, limit)}
}

// splitEvent: the frame is a bare metav1.WatchEvent; only the object in it has an envelope.
func (protobufFormat) splitEvent(frame []byte) (eventType, object []byte, err error) {
	c := protobufCursor{data: frame}
	for {
		field, value, ok, err := c.next()
		switch {
		case err != nil:
			return eventType, nil, err
		case !ok:
			return eventType, object, nil
		case field == fieldWatchEventType:
			eventType = value
		case field == fieldWatchEventObject:
			err = eachProtobuf(value, func(field uint64, value []byte) {
				if field == fieldRawExtensionRaw {
					object = value
				}
			})
		}
		if err != nil {
			return eventType, nil, err
		}
	}
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
	var metaErr error
	err = eachProtobuf(raw, func(field uint64, value []byte) {
		switch field {
		case fieldListMeta:
			metaErr = errors.Join(metaErr, parts.meta.Unmarshal(value))
		case fieldListItems:
			parts.items = append(parts.items, value)
		}
	})
	return parts, errors.Join(err, metaErr)
}

func (protobufFormat) objectMeta(object []byte) (meta metav1.ObjectMeta, err error) {
	_, raw, err := openProtobuf(object)
	if err != nil {
		return meta, err
	}
	var metaErr error
	err = eachProtobuf(raw, func(field uint64, value []byte) {
		if field == fieldObjectMeta {
			metaErr = errors.Join(metaErr, meta.Unmarshal(value))
		}
	})
	return meta, errors.Join(err, metaErr)
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
