// Package undecoded hands the answers of an API server to an informer before client-go decodes them. The request is the
// caller's: its URL, its retries, its rate limit and its metrics stay as they are.
//
//	informer ─▶ closure ─▶ client-go's REST client ─▶ Transport ─▶ server
//	    ▲                            ▲                    │
//	    │                            └── an empty answer ─┤
//	    └───────────── the answer, if it is protobuf ─────┘
//
// The context of the request connects both ends: [With] puts an [Offer] into it, and a [Transport] finds it there. An
// answer that does not pass a Transport, or is no protobuf, is decoded by client-go as ever.
package undecoded

import (
	"context"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	clientgo "k8s.io/client-go/tools/cache"
)

// ListerWatcher has an informer of compat/cache decode the answers to its requests. Each of its calls must send one
// request and return its answer as it is.
type ListerWatcher struct {
	clientgo.ListerWatcher
	Resource schema.GroupVersionResource
	Sharing  *Sharing // decodes the objects
}

// Offer asks for the answer to one request.
type Offer struct {
	taken func()

	mu     sync.Mutex // protects answer
	answer *http.Response
}

type offerKey struct{}

// With returns the context for a request and the offer in it. taken is called when the answer is there, in another
// goroutine. The closure that has sent the request need not return before the body of the answer is closed.
func With(ctx context.Context, taken func()) (context.Context, *Offer) {
	o := &Offer{taken: taken}
	return context.WithValue(ctx, offerKey{}, o), o
}

// Answer returns the answer, nil if there is none. Its body must be closed.
func (o *Offer) Answer() *http.Response {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answer
}

// take keeps the first answer.
func (o *Offer) take(resp *http.Response) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.answer != nil {
		return false
	}
	o.answer = resp
	return true
}

// Transport passes requests on to base, nil being http.DefaultTransport. It gives the answers to those with an Offer.
func Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{base}
}

type transport struct{ base http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.base }

// CloseIdleConnections is called by the client's method of that name, which does not look below.
func (t *transport) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(t.base) }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	offer, ok := req.Context().Value(offerKey{}).(*Offer)
	if err != nil || !ok || !canBeTaken(req, resp) {
		return resp, err
	}
	read := &body{ReadCloser: resp.Body, ctx: req.Context(), over: make(chan struct{})}
	answer, empty := *resp, *resp
	answer.Body, answer.Header, answer.Trailer = read, resp.Header.Clone(), nil // two goroutines have them
	if !offer.take(&answer) {
		return resp, nil
	}
	offer.taken()
	empty.Body = &wait{read}
	return &empty, nil
}

func canBeTaken(req *http.Request, resp *http.Response) bool {
	mediaType, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return req.Method == http.MethodGet && resp.StatusCode == http.StatusOK &&
		err == nil && mediaType == runtime.ContentTypeProtobuf && params["as"] == "" &&
		resp.Header.Get("Content-Encoding") == "" // net/http removes it where it unpacks the answer itself
}

// body is the answer's. over is closed when it was read to its end, or is closed.
type body struct {
	io.ReadCloser
	ctx  context.Context // of the request
	once sync.Once
	over chan struct{}
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	// At the client's Timeout several things end the request, each with its own error.
	if end, limited := b.ctx.Deadline(); err != nil && err != io.EOF && limited && !time.Now().Before(end) {
		err = context.DeadlineExceeded
	}
	return n, err
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

func (b *body) end() { b.once.Do(func() { close(b.over) }) }

// wait is an empty body that ends with the real one. So a request takes as long as it did, for time-outs and metrics.
type wait struct{ real *body }

func (w *wait) Read([]byte) (int, error) {
	select {
	case <-w.real.over:
	case <-w.real.ctx.Done():
	}
	return 0, io.EOF
}

// Close ends the real one, too: the closure has given up its request.
func (w *wait) Close() error { return w.real.ReadCloser.Close() }
