package listwatch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// salvaged lets a key pass only with a name: half a key would name another object.
func salvaged(key Key, resourceVersion string) (Key, string) {
	if key.Name == "" {
		return Key{}, resourceVersion
	}
	return key, resourceVersion
}

// looksLikeProtobuf tells the two formats apart where no Content-Type can be trusted.
func looksLikeProtobuf(body []byte) bool { return bytes.HasPrefix(body, []byte(protobufPrefix)) }
