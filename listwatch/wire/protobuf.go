package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// protobufPrefix opens every protobuf object that Kubernetes sends. An envelope follows, a runtime.Unknown.
const protobufPrefix = "k8s\x00"

// The field numbers are those of the generated.proto files in k8s.io/apimachinery.
const (
	fieldUnknownTypeMeta        = 1
	fieldUnknownRaw             = 2
	fieldUnknownContentEncoding = 3

	fieldTypeMetaAPIVersion = 1
	fieldTypeMetaKind       = 2

	fieldWatchEventType   = 1
	fieldWatchEventObject = 2
	fieldRawExtensionRaw  = 1

	// Every list of Kubernetes has its ListMeta first and its items second, every object its ObjectMeta first.
	fieldListMeta   = 1
	fieldListItems  = 2
	fieldObjectMeta = 1

	fieldMetaName            = 1
	fieldMetaNamespace       = 3
	fieldMetaUID             = 5
	fieldMetaResourceVersion = 6
)

// protobufFormat is application/vnd.kubernetes.protobuf. The messages around an object are taken apart by hand, because
// their generated Unmarshal would copy the object's bytes. A field that comes twice counts once, with its last value;
// messages are merged.
type protobufFormat struct{}

// Event implements Format. The frame is a metav1.WatchEvent without an envelope; the object in it has one.
func (protobufFormat) Event(frame []byte) (typ string, object Object, err error) {
	var enveloped []byte
	err = eachField(frame, func(number protowire.Number, value []byte) error {
		switch number {
		case fieldWatchEventType:
			typ = string(value)
		case fieldWatchEventObject:
			return eachField(value, func(number protowire.Number, value []byte) error {
				if number == fieldRawExtensionRaw {
					enveloped = value
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		typ, err = "", fmt.Errorf("watch event: %w", err)
	} else {
		object, err = openProtobuf(enveloped)
	}
	if typ == "ERROR" || typ == "" {
		err = noEvent(typ, frame, object, err)
	}
	return typ, object, err
}

// List implements Format.
func (protobufFormat) List(body []byte) (List, error) {
	object, err := openProtobuf(body)
	list := List{TypeMeta: object.TypeMeta}
	// The fields 1 and 2 of another kind are something else.
	if err == nil && (object.Kind == "" || strings.HasSuffix(object.Kind, "List")) {
		err = eachField(object.bytes, func(number protowire.Number, value []byte) error {
			switch number {
			case fieldListMeta:
				return list.ListMeta.Unmarshal(value)
			case fieldListItems:
				list.Items = append(list.Items, Object{bytes: value})
			}
			return nil
		})
	}
	if err != nil {
		return List{}, fmt.Errorf("the list cannot be read: %w", err)
	}
	return list, checkList(body, object.TypeMeta, false)
}

func metadataInProtobuf(object []byte) (meta metav1.ObjectMeta, ok bool) {
	ok = true
	// What follows the metadata may be the reason why the object cannot be decoded.
	_ = eachField(object, func(number protowire.Number, value []byte) error {
		if number != fieldObjectMeta {
			return nil
		}
		err := eachField(value, func(number protowire.Number, value []byte) error {
			switch number {
			case fieldMetaName:
				meta.Name = string(value)
			case fieldMetaNamespace:
				meta.Namespace = string(value)
			case fieldMetaUID:
				meta.UID = types.UID(value)
			case fieldMetaResourceVersion:
				meta.ResourceVersion = string(value)
			case -fieldMetaName, -fieldMetaNamespace, -fieldMetaUID:
				return errors.New("not a string")
			}
			return nil
		})
		ok = ok && err == nil
		return err
	})
	return meta, ok && meta.Name != ""
}

// openProtobuf takes the envelope, prefix and runtime.Unknown, off an object.
func openProtobuf(data []byte) (object Object, err error) {
	if !bytes.HasPrefix(data, []byte(protobufPrefix)) {
		return object, fmt.Errorf("not a Kubernetes protobuf object: it starts with %.8q", data)
	}
	err = eachField(data[len(protobufPrefix):], func(number protowire.Number, value []byte) error {
		switch number {
		case fieldUnknownTypeMeta:
			return eachField(value, func(number protowire.Number, value []byte) error {
				switch number {
				case fieldTypeMetaAPIVersion:
					object.APIVersion = string(value)
				case fieldTypeMetaKind:
					object.Kind = string(value)
				}
				return nil
			})
		case fieldUnknownRaw:
			object.bytes = value
		case fieldUnknownContentEncoding:
			if len(value) > 0 {
				return fmt.Errorf("protobuf object has the content encoding %.20q, which is not supported", value)
			}
		}
		return nil
	})
	return object, err
}

// eachField calls visit for every field of message. value points into message. A field that is not length-delimited
// comes as minus its number, without a value. An error of visit ends it and is returned.
func eachField(message []byte, visit func(number protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		number, wireType, n := protowire.ConsumeTag(message)
		if n < 0 {
			return brokenMessage(n)
		}
		message = message[n:]
		var value []byte
		if wireType == protowire.BytesType {
			value, n = protowire.ConsumeBytes(message)
		} else {
			n = protowire.ConsumeFieldValue(number, wireType, message)
			number = -number
		}
		if n < 0 {
			return brokenMessage(n)
		}
		if err := visit(number, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

func brokenMessage(n int) error {
	return fmt.Errorf("protobuf message is broken: %w", protowire.ParseError(n))
}
