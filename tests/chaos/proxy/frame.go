package proxy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// Padding is what an Oversize adds, in bytes.
const Padding = 2 << 20

var padding = bytes.Repeat([]byte("x"), Padding)

// framing is how events follow each other in a body.
type framing struct{ protobuf bool }

func (f framing) contentType() string {
	if f.protobuf {
		return runtime.ContentTypeProtobuf + ";stream=watch"
	}
	return runtime.ContentTypeJSON
}

// info is client-go's serializer of that content type.
func (f framing) info() runtime.SerializerInfo {
	mediaType := runtime.ContentTypeJSON
	if f.protobuf {
		mediaType = runtime.ContentTypeProtobuf
	}
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	return info
}

// encode returns the frame of an event. obj says of what kind it is.
func (f framing) encode(t watch.EventType, obj runtime.Object) []byte {
	content, err := runtime.Encode(f.info().Serializer, obj)
	if err != nil {
		panic(fmt.Sprintf("a %T cannot be encoded: %v", obj, err))
	}
	return f.frame(&metav1.WatchEvent{Type: string(t), Object: runtime.RawExtension{Raw: content}})
}

func (f framing) frame(event *metav1.WatchEvent) []byte {
	var content []byte
	var err error
	if f.protobuf {
		content, err = event.Marshal()
		content = append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), content...)
	} else {
		content, err = json.Marshal(event)
	}
	if err != nil {
		panic(fmt.Sprintf("an event cannot be encoded: %v", err))
	}
	return content
}

// reader cuts a body into frames. A clean end is io.EOF.
func (f framing) reader(body io.Reader) func() ([]byte, error) {
	if !f.protobuf {
		values := json.NewDecoder(body)
		return func() ([]byte, error) {
			var frame json.RawMessage
			err := values.Decode(&frame)
			return append(frame, '\n'), err
		}
	}
	return func() ([]byte, error) {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(body, frame); err != nil {
			return nil, err
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
		_, err := io.ReadFull(body, frame[4:])
		return frame, err
	}
}

// event takes a frame apart.
func (f framing) event(frame []byte) (*metav1.WatchEvent, error) {
	event := &metav1.WatchEvent{}
	if f.protobuf {
		return event, event.Unmarshal(frame[4:])
	}
	return event, utiljson.Unmarshal(frame, event)
}

// metaOf reads the metadata of an event's object.
func (f framing) metaOf(event *metav1.WatchEvent) (metav1.ObjectMeta, error) {
	var obj metav1.PartialObjectMetadata
	if !f.protobuf {
		err := utiljson.Unmarshal(event.Object.Raw, &obj)
		return obj.ObjectMeta, err
	}
	inner, err := opened(event.Object.Raw)
	if err == nil {
		err = obj.Unmarshal(inner.Raw)
	}
	return obj.ObjectMeta, err
}

// envelope begins everything in protobuf but the frames of a watch.
var envelope = []byte("k8s\x00")

func opened(content []byte) (runtime.Unknown, error) {
	var u runtime.Unknown
	inner, ok := bytes.CutPrefix(content, envelope)
	if !ok {
		return u, fmt.Errorf("%.10q is not in an envelope", content)
	}
	return u, u.Unmarshal(inner)
}

// oversize is the frame with Padding more bytes in its object, in an unknown field.
func (f framing) oversize(frame []byte) []byte {
	event, err := f.event(frame)
	if err != nil {
		return frame
	}
	if !f.protobuf {
		rest, ok := bytes.CutPrefix(event.Object.Raw, []byte("{"))
		if !ok {
			return frame
		}
		// Put together by hand: encoding/json would look at each byte of the padding twice more.
		begin := fmt.Appendf(nil, `{"type":%q,"object":{"padding":"`, event.Type)
		return bytes.Join([][]byte{begin, padding, []byte(`",`), rest, []byte("}\n")}, nil)
	}
	inner, err := opened(event.Object.Raw)
	if err != nil {
		return frame
	}
	const field, lengthDelimited = 9999, 2
	inner.Raw = binary.AppendUvarint(inner.Raw, field<<3|lengthDelimited)
	inner.Raw = binary.AppendUvarint(inner.Raw, Padding)
	inner.Raw = append(inner.Raw, padding...)
	content, err := inner.Marshal()
	if err != nil {
		return frame
	}
	event.Object.Raw = append(bytes.Clone(envelope), content...)
	return f.frame(event)
}

// garbage is an unreadable frame. isFramed: the next frame can be found nevertheless.
func (f framing) garbage(variant int) (frame []byte, isFramed bool) {
	switch {
	case variant%4 == 3 && f.protobuf: // as if the next frame were of four gigabytes
		return []byte("\xff\xff\xff\xff garbage"), false
	case variant%4 == 3:
		return []byte("\x00\xff garbage"), false
	case f.protobuf:
		return append(binary.BigEndian.AppendUint32(nil, 7), "garbage"...), true
	case variant%4 == 2:
		return []byte("{garbage}\n"), false // it has brackets, and is no JSON
	}
	return []byte(`{"type":"MODIFIED","object":{"apiVersion":7,"kind":["garbage"]}}` + "\n"), true
}

// continueToken reads the token of a list.
func continueToken(contentType string, body []byte) (string, error) {
	var list metav1.PartialObjectMetadataList
	if !strings.HasPrefix(contentType, runtime.ContentTypeProtobuf) {
		var meta struct {
			Metadata metav1.ListMeta `json:"metadata"`
		}
		err := utiljson.Unmarshal(body, &meta)
		return meta.Metadata.Continue, err
	}
	inner, err := opened(body)
	if err == nil {
		err = list.Unmarshal(inner.Raw)
	}
	return list.Continue, err
}
