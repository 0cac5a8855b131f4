package audit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// ErrCut is the error of all requests while the wire is cut.
var ErrCut = errors.New("the network is cut")

// Wire is a replica's way to the server. It can be cut, and it notes what becomes of writes of Ingresses. It
// counts lists.
type Wire struct {
	audit   *Audit
	replica string

	mu sync.Mutex // protects what follows
	up context.Context
	// cut ends up.
	cut context.CancelFunc
}

// Wire returns one that is not cut.
func (a *Audit) Wire(replica string) *Wire {
	w := &Wire{audit: a, replica: replica}
	w.Mend()
	return w
}

// Cut lets what is on its way fail, and what comes, until Mend. The server may carry out what was on its way.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut()
}

// Mend lets new requests pass.
func (w *Wire) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.up, w.cut = context.WithCancel(context.Background())
}

func (w *Wire) state() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.up
}

// IsUp reports whether the wire is not cut.
func (w *Wire) IsUp() bool { return w.state().Err() == nil }

// Wrap returns a transport that goes through the wire, for rest.Config.Wrap.
func (w *Wire) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		up := w.state()
		ctx, cancel := context.WithCancel(req.Context())
		stop := context.AfterFunc(up, cancel)
		end := func() { stop(); cancel() }
		var resp *http.Response
		err := ErrCut
		if up.Err() == nil {
			w.count(req)
			resp, err = next.RoundTrip(req.WithContext(ctx))
			resp, err = w.note(req, resp, err)
		}
		if err != nil {
			end()
			return nil, nameOf(err, up)
		}
		resp.Body = &body{resp.Body, up, end}
		return resp, nil
	})
}

// note reads the answer to a write of an Ingress, and keeps its version. Without an answer it keeps what was sent.
func (w *Wire) note(req *http.Request, resp *http.Response, err error) (*http.Response, error) {
	isIngress := strings.Contains(req.URL.Path, "/ingresses")
	if !isIngress || req.Method == http.MethodGet || err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		return resp, err
	}
	if err != nil {
		w.keep(keyOf(req), 0)
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	ing, bad := decode(text)
	if err = errors.Join(err, resp.Body.Close(), bad); err != nil {
		w.keep(keyOf(req), 0)
		return nil, err
	}
	w.keep(ing.Namespace+"/"+ing.Name, versionOf(ing))
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, nil
}

// keyOf returns the key of an Ingress that a request writes: from the path, and the name of a new one from the body.
func keyOf(req *http.Request) string {
	path, name, _ := strings.Cut(req.URL.Path, "/ingresses")
	if name == "" && req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			text, _ := io.ReadAll(body)
			ing, _ := decode(text)
			name = "/" + ing.Name
		}
	}
	return path[strings.LastIndex(path, "/")+1:] + name
}

// decode reads JSON or protobuf.
func decode(text []byte) (*networkingv1.Ingress, error) {
	ing := &networkingv1.Ingress{}
	return ing, runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), text, ing)
}

// count counts a list, which may be a stream, or have pages of which it counts the first.
func (w *Wire) count(req *http.Request) {
	query := req.URL.Query()
	isList := !query.Has("watch") && !query.Has("continue") || query.Has("sendInitialEvents")
	ofKind := strings.HasSuffix(req.URL.Path, "/services") || strings.HasSuffix(req.URL.Path, "/ingresses")
	if isList && ofKind && req.Method == http.MethodGet {
		w.audit.mu.Lock()
		defer w.audit.mu.Unlock()
		w.audit.lists[w.replica]++
	}
}

func (w *Wire) keep(key string, version uint64) {
	w.audit.mu.Lock()
	defer w.audit.mu.Unlock()
	w.audit.sent[key] = append(w.audit.sent[key], sent{w.replica, version})
}

type roundTripper func(req *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// nameOf says that it was the wire, and not the caller, that ended a request.
func nameOf(err error, up context.Context) error {
	if up.Err() != nil && err != io.EOF {
		return ErrCut
	}
	return err
}

// body ends with the wire.
type body struct {
	io.ReadCloser
	up  context.Context
	end func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		err = nameOf(err, b.up)
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
