package listwatch

import (
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

// protobufCursor walks the top-level fields of one message. It reads whatever the generated Unmarshal of Kubernetes' types
// reads, odd numbers and groups included. Of a known field with another wire type it is more lenient: it passes it over.
type protobufCursor struct {
	data []byte
}

// next returns the next length-delimited field and skips all others; ok is false at the message's end. value points into
// the message.
func (c *protobufCursor) next() (field uint64, value []byte, ok bool, err error) {
	for len(c.data) > 0 {
		tag, err := c.varint()
		if err != nil {
			return 0, nil, false, err
		}
		field := int32(tag >> 3)
		if field <= 0 {
			return 0, nil, false, fmt.Errorf("protobuf message has field number %d", field)
		}
		if tag&7 != wireBytes {
			if err := c.skip(tag & 7); err != nil {
				return 0, nil, false, err
			}
			continue
		}
		value, err := c.bytes()
		if err != nil {
			return 0, nil, false, fmt.Errorf("its field %d: %w", field, err)
		}
		return uint64(field), value, true, nil
	}
	return 0, nil, false, nil
}

// The wire types of protobuf.
const (
	wireVarint     = 0
	wireFixed64    = 1
	wireBytes      = 2
	wireStartGroup = 3
	wireEndGroup   = 4
	wireFixed32    = 5
)

// varint takes a number. Of a tenth byte only the bit that fits is used, as in the generated code.
func (c *protobufCursor) varint() (v uint64, err error) {
	for i, b := range c.data {
		if i == 10 {
			return 0, errors.New("protobuf message has a number of more than ten bytes")
		}
		v |= uint64(b&0x7F) << (7 * i)
		if b < 0x80 {
			c.data = c.data[i+1:]
			return v, nil
		}
	}
	return 0, errProtobufIncomplete
}

// bytes takes a length and that many bytes.
func (c *protobufCursor) bytes() ([]byte, error) {
	size, err := c.varint()
	if err != nil {
		return nil, err
	}
	if size > uint64(len(c.data)) {
		return nil, fmt.Errorf("%w: it has %d bytes, and %d are left", errProtobufIncomplete, size, len(c.data))
	}
	value := c.data[:size]
	c.data = c.data[size:]
	return value, nil
}

// skip takes the value of a field, a group with all that is in it.
func (c *protobufCursor) skip(wireType uint64) error {
	for depth := 0; ; {
		var err error
		switch wireType {
		case wireVarint:
			_, err = c.varint()
		case wireFixed64:
			err = c.drop(8)
		case wireBytes:
			_, err = c.bytes()
		case wireStartGroup:
			depth++
		case wireEndGroup:
			if depth--; depth < 0 {
				err = errors.New("protobuf message ends a group that it did not begin")
			}
		case wireFixed32:
			err = c.drop(4)
		default:
			err = fmt.Errorf("protobuf message has wire type %d", wireType)
		}
		if err != nil || depth == 0 {
			return err
		}
		tag, err := c.varint()
		if err != nil {
			return err
		}
		wireType = tag & 7
	}
}

func (c *protobufCursor) drop(n int) error {
	if n > len(c.data) {
		return errProtobufIncomplete
	}
	c.data = c.data[n:]
	return nil
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
