package wire

import (
	"bytes"
	"errors"
	"fmt"
	"mime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ErrGarbage is a frame that is no JSON. Where the next frame starts is unknown then, so the stream cannot go on.
var ErrGarbage = errors.New("garbage in the watch stream")

// ErrTable is an answer for printing: its rows are no objects.
var ErrTable = errors.New("the server answered with a Table, which is for printing: its rows are no objects")

// Format is an encoding: [JSON] or [Protobuf].
type Format interface {
	// Event takes an event of a watch apart. typ is what could be read of its type, also beside an error. An error costs
	// this event only, unless it is an ErrGarbage.
	Event(frame []byte) (typ string, object Object, err error)
	// List takes a list apart.
	List(body []byte) (List, error)

	newCutter() cutter
	// The methods of an Object, on its bytes without an envelope.
	decode(object []byte, into any, decoder Decoder) error
	metadata(object []byte) (metav1.ObjectMeta, error)
	key(object []byte) (key types.NamespacedName, version string)
	status(object Object, into *metav1.Status) error
}

// The formats.
var (
	JSON     Format = jsonFormat{}
	Protobuf Format = protobufFormat{}
)

// FormatOf chooses the format by the Content-Type of an answer. An answer without one is JSON, as it is for client-go.
func FormatOf(contentType string) (Format, error) {
	if contentType == "" {
		return JSON, nil
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the server's Content-Type %q cannot be read: %w", contentType, err)
	case params["as"] == "Table":
		return nil, ErrTable
	case mediaType == runtime.ContentTypeJSON:
		return JSON, nil
	case mediaType == runtime.ContentTypeProtobuf:
		return Protobuf, nil
	}
	const neither = "the server answered with Content-Type %q, which is neither JSON nor Kubernetes protobuf"
	return nil, fmt.Errorf(neither, contentType)
}

// Message is what the generated protobuf code of a type offers.
type Message = interface {
	Unmarshal(data []byte) error
}

// Decoder decodes the protobuf form of an object. It must not keep data.
type Decoder interface {
	Unmarshal(data []byte, into Message) error
}

// Object is an object that is not decoded yet. It points into the bytes that it was cut from.
type Object struct {
	// APIVersion and Kind are what the envelope of a protobuf object says. JSON has no envelope: there they are empty.
	APIVersion, Kind string

	format Format
	bytes  []byte // without the envelope
}

// open returns the object in body. The first bytes of body say which format it has.
func open(body []byte) (Object, error) {
	if bytes.HasPrefix(body, []byte(protobufPrefix)) {
		return openProtobuf(body)
	}
	return Object{format: JSON, bytes: body}, nil
}

// Decode decodes the object into a pointer. Protobuf goes through decoder, or if that is nil through the object's own
// Unmarshal.
func (o Object) Decode(into any, decoder Decoder) error {
	return o.format.decode(o.bytes, into, decoder)
}

// Metadata reads the metadata of any kind of object.
func (o Object) Metadata() (metav1.ObjectMeta, error) { return o.format.metadata(o.bytes) }

// Key reads key and resourceVersion of an object that cannot be decoded, as far as possible. The key is zero unless
// namespace and name are both known: half a key would name another object.
func (o Object) Key() (key types.NamespacedName, version string) {
	if o.format == nil {
		return key, ""
	}
	if key, version = o.format.key(o.bytes); key.Name == "" {
		key = types.NamespacedName{}
	}
	return key, version
}

// List is a list whose items are not decoded yet.
type List struct {
	// APIVersion and Kind are empty if the list does not say them.
	APIVersion, Kind string
	Meta             metav1.ListMeta
	// Items are nil if there is no such field, or in protobuf if there are none.
	Items []Object
}
