package factory

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

var (
	servicesGVR = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	nodesGVR    = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	widgetsGVR  = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

// wire is an API server as an http.RoundTripper: lists are what the test says, watches stay silent.
type wire struct {
	mu       sync.Mutex
	lists    map[string]string // by path
	requests []string
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	query := req.URL.Query()
	said := req.URL.Path
	if s := query.Get("labelSelector"); s != "" {
		said += "?" + s
	}
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: req}
	list, ok := w.lists[req.URL.Path]
	switch {
	case query.Get("watch") != "":
		said = "watch " + said
		resp.Body = silence{req.Context()}
	case ok:
		said = "list " + said
		resp.Body = io.NopCloser(strings.NewReader(list))
	default:
		said = "forbid " + said
		resp.StatusCode = 403
		resp.Body = io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not for you","code":403}`))
	}
	w.requests = append(w.requests, said)
	return resp, nil
}

func (w *wire) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.requests
	w.requests = nil
	return said
}

// silence is the body of a watch in which nothing happens.
type silence struct{ ctx context.Context }

func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (s silence) Close() error { return nil }

func listOf(kind, apiVersion string, names ...string) string {
	var items []string
	for _, name := range names {
		items = append(items, `{"kind":"`+kind+`","apiVersion":"`+apiVersion+`","metadata":{"namespace":"shop","name":"`+name+`","uid":"`+name+`","resourceVersion":"7","labels":{"app":"`+name+`"}}}`)
	}
	return `{"kind":"` + kind + `List","apiVersion":"` + apiVersion + `","metadata":{"resourceVersion":"7"},"items":[` + strings.Join(items, ",") + `]}`
}

// onTheWire runs a test of a factory in virtual time.
func onTheWire(t *testing.T, opts Options, tell func(t *testing.T, f *Factory, w *wire)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{lists: map[string]string{
			"/api/v1/services":                 listOf("Service", "v1", "web", "db"),
			"/api/v1/namespaces/shop/services": listOf("Service", "v1", "web"),
			"/api/v1/nodes":                    listOf("Node", "v1", "n1"),
			"/apis/example.com/v1/widgets":     listOf("Widget", "example.com/v1", "w1"),
		}}
		opts.Reflector.DisableStreamingList = true
		if opts.WatchErrorHandler == nil {
			opts.WatchErrorHandler = func(context.Context, schema.GroupVersionResource, error) {}
		}
		f := New(&rest.Config{Host: "http://api.test", Transport: w}, opts)
		defer f.Shutdown()
		tell(t, f, w)
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
