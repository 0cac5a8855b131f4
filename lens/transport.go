package lens

import (
	"bytes"
	encodingjson "encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// Transport is for rest.Config.Wrap. It notes what reconciles write, and at which resourceVersion that will come back.
func (l *Lens) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{l, next}
}

type transport struct {
	lens *Lens
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !t.lens.on.Load() || isRead || r.URL.Query().Has("dryRun") {
		return t.next.RoundTrip(r)
	}
	target := targetOf(r)
	by, found := t.lens.beginWrite(target)
	answer, err := t.next.RoundTrip(r)
	if !found {
		return answer, err
	}
	w := Write{Verb: r.Method, Path: r.URL.Path, Object: target, manager: managerOf(r)}
	if err == nil {
		w.Code = answer.StatusCode
		readWritten(answer, &w)
	}
	t.lens.endWrite(by, target, w)
	return answer, err
}

// WrappedRoundTripper is asked for by client-go, to look through.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// managerOf returns the name under which managedFields have what a request writes; empty if it is not known, or cut.
func managerOf(r *http.Request) string {
	name := r.URL.Query().Get("fieldManager")
	if name == "" {
		name, _, _ = strings.Cut(r.UserAgent(), "/")
	}
	if len(name) >= validation.FieldManagerMaxLength {
		return ""
	}
	return name
}

// targetOf reads from a request which object it writes, namespace/name. Its path is /apis/G/V/namespaces/NS/R/NAME, with a
// subresource behind it or not, and perhaps the path of a proxy before it. Of an object that is created only the namespace
// is known: "NS/", or "/".
func targetOf(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	api := slices.IndexFunc(parts, func(part string) bool { return part == "api" || part == "apis" })
	if api < 0 {
		return "/"
	}
	version := api + 1
	if parts[api] == "apis" {
		version = api + 2
	}
	parts = parts[min(len(parts), version+1):]
	namespace := ""
	if len(parts) >= 3 && parts[0] == "namespaces" {
		namespace = parts[1] + "/"
		parts = parts[2:]
	}
	switch {
	case len(parts) >= 2:
		return namespace + parts[1]
	case namespace == "":
		return "/"
	}
	return namespace
}

// maxAnswer is how much of an answer is read: an object has at most 1.5 MiB in etcd.
const maxAnswer = 3 << 20

// readWritten reads which object was written, from the answer. Its body is then as it was.
func readWritten(answer *http.Response, w *Write) {
	mediaType, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	isProtobuf := mediaType == runtime.ContentTypeProtobuf
	isObject := isProtobuf || mediaType == runtime.ContentTypeJSON
	if answer.StatusCode < 200 || answer.StatusCode >= 300 || answer.Body == nil || !isObject {
		return
	}
	text, err := readText(answer)
	answer.Body = &readAgain{io.MultiReader(bytes.NewReader(text), answer.Body), answer.Body}
	if err != nil {
		return // whoever reads on gets the same error
	}
	var got written
	if isProtobuf {
		err = got.unmarshalProtobuf(text)
	} else {
		err = got.unmarshalJSON(text)
	}
	switch {
	case err != nil:
	case got.Kind == "Status": // the answer to most DELETEs
		w.uid = got.uid
	case got.Metadata.Name != "":
		w.Object = nameOf(types.NamespacedName{Namespace: got.Metadata.Namespace, Name: got.Metadata.Name})
		w.ResourceVersion = got.Metadata.ResourceVersion
		w.uid = got.Metadata.UID
	}
}

// readText reads an answer, or the beginning of a larger one.
func readText(answer *http.Response) ([]byte, error) {
	var text bytes.Buffer
	text.Grow(int(min(max(answer.ContentLength, 0), maxAnswer)) + bytes.MinRead)
	_, err := text.ReadFrom(io.LimitReader(answer.Body, maxAnswer))
	return text.Bytes(), err
}

// written is what is read of an object that was written, or of a Status.
type written struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name            string    `json:"name"`
		Namespace       string    `json:"namespace"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
	Details encodingjson.RawMessage `json:"details"` // of another type in objects that are no Status

	uid types.UID // in the details of a Status
}

func (w *written) unmarshalJSON(text []byte) error {
	err := json.Unmarshal(text, w)
	if err != nil || w.Kind != "Status" || w.Details == nil {
		return err
	}
	var details metav1.StatusDetails
	err = json.Unmarshal(w.Details, &details)
	w.uid = details.UID
	return err
}

func (w *written) unmarshalProtobuf(text []byte) error {
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(bytes.TrimPrefix(text, []byte("k8s\x00"))); err != nil {
		return err
	}
	w.Kind = envelope.Kind
	if w.Kind == "Status" {
		var status metav1.Status
		err := status.Unmarshal(envelope.Raw)
		if status.Details != nil {
			w.uid = status.Details.UID
		}
		return err
	}
	object, err := fieldsOf(envelope.Raw)
	if err != nil {
		return err
	}
	m, err := fieldsOf(object[1])
	w.Metadata.Name, w.Metadata.Namespace = string(m[1]), string(m[3]) // as metav1.ObjectMeta numbers them
	w.Metadata.UID, w.Metadata.ResourceVersion = types.UID(m[5]), string(m[6])
	return err
}

// fieldsOf returns the first fields of a message in protobuf, by number, as far as they are strings or messages.
func fieldsOf(message []byte) (fields [7][]byte, err error) {
	for len(message) > 0 {
		number, wireType, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fields, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, wireType, message[n:])
		if size < 0 {
			return fields, protowire.ParseError(size)
		}
		if wireType == protowire.BytesType && int(number) < len(fields) {
			fields[number], _ = protowire.ConsumeBytes(message[n:])
		}
		message = message[n+size:]
	}
	return fields, nil
}

// readAgain is a body of which a part was read.
type readAgain struct {
	io.Reader
	io.Closer
}
