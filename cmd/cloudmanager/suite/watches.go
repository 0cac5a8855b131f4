package suite

import (
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
)

// watches stand between the operator and the server. They hold back what the watches of a resource bring, so that the
// operator's cache is behind for as long as a case wants.
type watches struct {
	mu      sync.Mutex // guards what follows
	held    map[string]chan struct{}
	brought map[string]*strings.Builder // by resource: all bytes so far
}

// hold holds back what the server sends from now on. release lets it through.
func (w *watches) hold(resource string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held[resource] = make(chan struct{})
}

func (w *watches) release(resource string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.held[resource])
	delete(w.held, resource)
}

// hasBrought reports whether the operator has received these words by a watch of the resource.
func (w *watches) hasBrought(resource, words string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.brought[resource]
	return b != nil && strings.Contains(b.String(), words)
}

func (w *watches) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && r.URL.Query().Has("watch") {
			resp.Body = &watchBody{
				ReadCloser: resp.Body, watches: w, resource: path.Base(r.URL.Path),
				canceled: r.Context().Done(), closed: make(chan struct{}),
			}
		}
		return resp, err
	})
}

type watchBody struct {
	io.ReadCloser
	watches  *watches
	resource string
	canceled <-chan struct{}
	closed   chan struct{}
	close    sync.Once
}

// Read implements io.Reader. What was read while the resource is held comes when it is released.
func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.watches.mu.Lock()
	held := b.watches.held[b.resource]
	b.watches.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-b.closed:
			return 0, io.ErrClosedPipe
		case <-b.canceled:
			return 0, io.ErrClosedPipe
		}
	}
	b.watches.mu.Lock()
	defer b.watches.mu.Unlock()
	if b.watches.brought[b.resource] == nil {
		b.watches.brought[b.resource] = &strings.Builder{}
	}
	b.watches.brought[b.resource].Write(p[:n])
	return n, err
}

// Close implements io.Closer. It ends a Read that is held back.
func (b *watchBody) Close() error {
	b.close.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}
