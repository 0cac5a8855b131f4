package lens

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	w := Write{Verb: r.Method, Path: r.URL.Path, Object: target}
	if err == nil {
		w.Code = answer.StatusCode
		readWritten(answer, &w)
	}
	t.lens.endWrite(by, target, w)
	return answer, err
}

// WrappedRoundTripper is asked for by client-go, to look through.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

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
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	answer.Body = &readAgain{io.MultiReader(bytes.NewReader(text), answer.Body), answer.Body}
	if err != nil {
		return // whoever reads on gets the same error
	}
	var kind metav1.TypeMeta
	if isProtobuf {
		var envelope runtime.Unknown
		if envelope.Unmarshal(bytes.TrimPrefix(text, []byte("k8s\x00"))) != nil {
			return
		}
		kind.Kind, text = envelope.Kind, envelope.Raw
	} else if json.Unmarshal(text, &kind) != nil {
		return
	}
	if kind.Kind == "Status" { // the answer to most DELETEs
		var status metav1.Status
		if decode(isProtobuf, text, &status) == nil && status.Details != nil {
			w.uid = status.Details.UID
		}
		return
	}
	var object metav1.PartialObjectMetadata
	if decode(isProtobuf, text, &object) == nil && object.Name != "" {
		w.Object = nameOf(types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
		w.ResourceVersion = object.ResourceVersion
		w.uid = object.UID
	}
}

func decode(isProtobuf bool, text []byte, into interface{ Unmarshal([]byte) error }) error {
	if isProtobuf {
		return into.Unmarshal(text)
	}
	return json.Unmarshal(text, into)
}

// readAgain is a body of which a part was read.
type readAgain struct {
	io.Reader
	io.Closer
}
