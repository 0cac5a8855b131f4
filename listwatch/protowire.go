package listwatch

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The three messages that wrap an object are taken apart by hand: the generated Unmarshal of runtime.Unknown and
// metav1.WatchEvent would copy the object's bytes once each before anyone decodes them.

// protobufPrefix opens every protobuf object that Kubernetes sends; a runtime.Unknown follows.
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
	fieldMetaResourceVersion = 6
)

var errProtobufIncomplete = errors.New("protobuf message breaks off")

// protobufCursor walks the top-level fields of one message.
type protobufCursor struct {
	data []byte
}

// next returns the next length-delimited field and skips all others; ok is false at the message's end. value points into
// the message.
func (c *protobufCursor) next() (field uint64, value []byte, ok bool, err error) {
	for len(c.data) > 0 {
		tag, n := binary.Uvarint(c.data)
		if n <= 0 {
			return 0, nil, false, errProtobufIncomplete
		}
		c.data = c.data[n:]
		var skip uint64
		switch wireType := tag & 7; wireType {
		case 0:
			if _, n = binary.Uvarint(c.data); n <= 0 {
				return 0, nil, false, errProtobufIncomplete
			}
			skip = uint64(n)
		case 1:
			skip = 8
		case 5:
			skip = 4
		case 2:
			size, n := binary.Uvarint(c.data)
			if n <= 0 {
				return 0, nil, false, errProtobufIncomplete
			}
			if left := len(c.data) - n; size > uint64(left) {
				return 0, nil, false, fmt.Errorf("%w: its field %d has %d bytes, and %d are left", errProtobufIncomplete, tag>>3, size, left)
			}
			value = c.data[n : n+int(size)]
			c.data = c.data[n+int(size):]
			return tag >> 3, value, true, nil
		default:
			return 0, nil, false, fmt.Errorf("protobuf message has wire type %d", wireType)
		}
		if skip > uint64(len(c.data)) {
			return 0, nil, false, errProtobufIncomplete
		}
		c.data = c.data[skip:]
	}
	return 0, nil, false, nil
}

// eachProtobuf calls visit for every length-delimited field of message. visit must not keep value.
func eachProtobuf(message []byte, visit func(field uint64, value []byte)) error {
	c := protobufCursor{data: message}
	for {
		field, value, ok, err := c.next()
		if !ok {
			return err
		}
		visit(field, value)
	}
}

// openProtobuf takes the envelope, prefix and runtime.Unknown, off an object.
func openProtobuf(data []byte) (tm typeMeta, raw []byte, err error) {
	if len(data) < len(protobufPrefix) || string(data[:len(protobufPrefix)]) != protobufPrefix {
		return tm, nil, fmt.Errorf("not a Kubernetes protobuf object: it starts with %.8q", data)
	}
	var encoding []byte
	var metaErr error
	err = eachProtobuf(data[len(protobufPrefix):], func(field uint64, value []byte) {
		switch field {
		case fieldUnknownTypeMeta:
			metaErr = errors.Join(metaErr, tm.merge(value))
		case fieldUnknownRaw:
			raw = value
		case fieldUnknownContentEncoding:
			encoding = value
		}
	})
	if err != nil {
		return tm, nil, err
	}
	if len(encoding) > 0 {
		return tm, nil, fmt.Errorf("protobuf object has the content encoding %.20q, which is not supported", encoding)
	}
	return tm, raw, metaErr
}

// merge reads a runtime.TypeMeta.
func (tm *typeMeta) merge(message []byte) error {
	return eachProtobuf(message, func(field uint64, value []byte) {
		switch field {
		case fieldTypeMetaAPIVersion:
			tm.apiVersion = value
		case fieldTypeMetaKind:
			tm.kind = value
		}
	})
}
