package main

import (
	"io"
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// traffic counts the requests of all clients, and the bytes of the answers' bodies, unpacked.
type traffic struct {
	watches, reads, writes atomic.Int64
	bytes                  atomic.Int64
}

// hookTransports must be called before the program makes a client.
func hookTransports() *traffic {
	t := &traffic{}
	rest.TransportHook = func(next http.RoundTripper) http.RoundTripper { return &counting{next, t} }
	return t
}

type counting struct {
	next http.RoundTripper
	*traffic
}

func (c *counting) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case request.Method != http.MethodGet:
		c.writes.Add(1)
	case request.URL.Query().Has("watch"):
		c.watches.Add(1)
	default:
		c.reads.Add(1)
	}
	response, err := c.next.RoundTrip(request)
	if err == nil {
		response.Body = &countingBody{response.Body, &c.bytes}
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (c *counting) WrappedRoundTripper() http.RoundTripper { return c.next }

type countingBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}
