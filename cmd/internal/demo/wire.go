package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// Tape notes the requests that clients of one configuration send. Its methods may be called from any goroutine.
type Tape struct {
	mu       sync.Mutex // protects what follows
	requests []*Request // the last ones, tapeLength at most
	sent     int
	received atomic.Int64
}

// tapeLength is how many requests are kept.
const tapeLength = 1000

// Request is what was sent.
type Request struct {
	Method string
	Path   string // with the query
	Header http.Header
	Body   string
	Code   int // of the answer; 0 as long as there is none
}

// String returns the request as it is printed: what, and for a write in which form.
func (r Request) String() string {
	if r.Body == "" {
		return r.Method + " " + r.Path
	}
	return fmt.Sprintf("%s %s\n%s\n%s", r.Method, r.Path, r.Header.Get("Content-Type"), r.Body)
}

// Taped returns a copy of cfg whose clients' requests are noted.
func Taped(cfg *rest.Config) (*rest.Config, *Tape) {
	tape := &Tape{}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return tape.roundTrip(next, req) })
	})
	return cfg, tape
}

type roundTripper func(req *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (t *Tape) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	noted := &Request{Method: req.Method, Path: req.URL.RequestURI(), Header: req.Header.Clone()}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		noted.Body = string(body)
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	t.mu.Lock()
	t.sent++
	if len(t.requests) == tapeLength {
		t.requests = append(t.requests[:0], t.requests[1:]...)
	}
	t.requests = append(t.requests, noted)
	t.mu.Unlock()
	resp, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	noted.Code = resp.StatusCode
	t.mu.Unlock()
	resp.Body = &countedBody{resp.Body, &t.received}
	return resp, nil
}

type countedBody struct {
	io.ReadCloser
	received *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.received.Add(int64(n))
	return n, err
}

// Rewind forgets what was noted, and returns how many requests and how many bytes of answers, unpacked, that was.
func (t *Tape) Rewind() (requests int, received int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	requests, t.sent, t.requests = t.sent, 0, nil
	return requests, t.received.Swap(0)
}

// Requests returns what was noted since Rewind, the last thousand, in the order in which it was sent.
func (t *Tape) Requests() []Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]Request, 0, len(t.requests))
	for _, r := range t.requests {
		out = append(out, *r)
	}
	return out
}

// Last is the newest request; zero if there was none.
func (t *Tape) Last() Request {
	all := t.Requests()
	if len(all) == 0 {
		return Request{}
	}
	return all[len(all)-1]
}

// parametersPerLine is the number of parameters on a line of a long curl command. It is fixed, for versions differ in
// length.
const parametersPerLine = 2

// Curl returns the command that reads the same in a terminal, on several lines if it is long. For a cluster, which
// needs certificates and tokens, it uses kubectl's proxy, and a line says so once.
func (d *Demo) Curl(r Request) string {
	host := d.Config.Host
	if !d.InProcess {
		host = "http://localhost:8001"
		if !d.proxied {
			d.proxied = true
			d.Why("curl lines want `kubectl proxy --port=8001` in another terminal")
		}
	}
	return curl(host, r.Path)
}

// curl leaves it to -G to put the query together again: within its quotes a URL could not go on in the next line.
func curl(host, path string) string {
	short := fmt.Sprintf("curl -sN '%s%s'", host, path)
	path, query, _ := strings.Cut(path, "?")
	if margin+len(short) <= columns || query == "" {
		return short
	}
	command := fmt.Sprintf("curl -sNG '%s%s'", host, path)
	for parameters := range slices.Chunk(strings.Split(query, "&"), parametersPerLine) {
		command += fmt.Sprintf(" \\\n  -d '%s'", strings.Join(parameters, "&"))
	}
	return command
}

// Serve runs an HTTP server of the demo's own on a loopback port until the story has ended, and returns its URL.
func (d *Demo) Serve(handler http.Handler) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Check(err)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: patience}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // always an error: that it was closed
	}()
	d.Cleanup(func(context.Context) error {
		err := server.Close()
		<-served
		return err
	})
	return "http://" + listener.Addr().String()
}
