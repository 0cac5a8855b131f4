package wire

import (
	"errors"
	"fmt"
	"mime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// ErrGarbage is a frame that is no JSON. Where the next frame starts is unknown then, so the stream cannot go on.
var ErrGarbage = errors.New("garbage in the watch stream")

var errTable = errors.New("the server answered with a Table, which is for printing: its rows are no objects")

// Format is an encoding: JSON or protobuf.
type Format interface {
	// List takes a list apart. It refuses other objects; a Status is returned as an *apierrors.StatusError.
	List(body []byte) (List, error)
	// Event takes an event of a watch apart. typ and object are what could be read of it, also beside an error. The
	// error is an *apierrors.StatusError if the server ended the watch, and wraps ErrGarbage if the next frame cannot
	// be found. Any other error costs this event only.
	Event(frame []byte) (typ string, object Object, err error)
}

var (
	asJSON     Format = jsonFormat{}
	asProtobuf Format = protobufFormat{}
)

// FormatOf chooses the format by the Content-Type of an answer. An answer without one is JSON, as it is for client-go.
func FormatOf(contentType string) (Format, error) {
	if contentType == "" {
		return asJSON, nil
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the server's Content-Type %q cannot be read: %w", contentType, err)
	case params["as"] == "Table":
		return nil, errTable
	case mediaType == runtime.ContentTypeJSON:
		return asJSON, nil
	case mediaType == runtime.ContentTypeProtobuf:
		return asProtobuf, nil
	}
	const neither = "the server answered with Content-Type %q, which is neither JSON nor Kubernetes protobuf"
	return nil, fmt.Errorf(neither, contentType)
}

// message is what the generated protobuf code of a type offers.
type message = interface {
	Unmarshal(data []byte) error
}

// Decoder decodes the protobuf form of an object. It must not keep data.
type Decoder interface {
	Unmarshal(data []byte, into message) error
}

// Object is an object that is not decoded yet. It points into the bytes that it was cut from.
type Object struct {
	// TypeMeta is what the envelope of a protobuf object says. JSON has no envelope: there it is empty.
	metav1.TypeMeta

	isJSON bool
	bytes  []byte // without the envelope
}

// Decode decodes the object into a pointer. Protobuf goes through decoder, or if that is nil through the object's own
// Unmarshal. Every kind of object can be read as a metav1.PartialObjectMetadata.
func (o Object) Decode(into any, decoder Decoder) error {
	if o.isJSON {
		return utiljson.Unmarshal(o.bytes, into)
	}
	decoded, ok := into.(message)
	switch {
	case !ok:
		return fmt.Errorf("%T cannot be decoded from protobuf", into)
	case decoder != nil:
		return decoder.Unmarshal(o.bytes, decoded)
	}
	return decoded.Unmarshal(o.bytes)
}

// Key reads key and resourceVersion of an object that cannot be decoded, as far as possible. The key is whole or zero:
// half a key would name another object. At cluster scope it has no namespace.
func (o Object) Key() (key types.NamespacedName, version string) {
	meta, ok := o.Metadata()
	if ok {
		key = types.NamespacedName{Namespace: meta.Namespace, Name: meta.Name}
	}
	return key, meta.ResourceVersion
}

// Metadata reads namespace, name, UID and resourceVersion of an object without decoding it. If ok is false, the object
// has no name or they may be others than those of the decoded object.
func (o Object) Metadata() (meta metav1.ObjectMeta, ok bool) {
	if o.isJSON {
		return metadataInJSON(o.bytes)
	}
	return metadataInProtobuf(o.bytes)
}

// List is a list whose items are not decoded yet.
type List struct {
	metav1.TypeMeta // empty if the list does not say it
	metav1.ListMeta
	Items []Object
}

// checkList refuses an object that is no list, though it can be read as one without items.
func checkList(body []byte, is metav1.TypeMeta, hasItems bool) error {
	switch {
	case is.Kind == "Status":
		if failure := statusIn(body); failure != nil {
			return failure
		}
		return errors.New("the server answered with a Status, not with a list")
	case is.Kind == "Table":
		return errTable
	case is.Kind != "" && !strings.HasSuffix(is.Kind, "List") && !hasItems:
		named := strings.TrimSpace(is.APIVersion + " " + is.Kind)
		return fmt.Errorf("the server answered with a %s, not with a list", named)
	}
	return nil
}
