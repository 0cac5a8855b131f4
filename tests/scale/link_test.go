package scale

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

var (
	errCut  = errors.New("the network is cut")
	errLost = errors.New("the request was lost")
)

// transportTimeout is when the client's transport notices that no answer will come. HTTP/2's pings do that.
const transportTimeout = 15 * time.Second

// link is one process's way to the server. All that can go wrong between them happens here.
type link struct {
	server http.Handler
	tally  *tally
	// lagging returns a version of the server's cache, which may answer with it if any version will do. Nil: it is not
	// behind.
	lagging func() string

	mu    sync.Mutex // guards the rest
	rnd   *rand.Rand
	fault fault
	cut   chan struct{} // closed to break the watches
	held  sync.WaitGroup
}

// fault is what a link does to requests.
type fault struct {
	latency     time.Duration // at most, each way
	partition   bool          // nothing passes
	noRenewals  bool          // no write of a member's Lease passes
	lateAnswers bool          // those to renewals come just before their sender would give up
	loseRequest float64       // so many never arrive
	loseAnswer  float64       // so many arrive, and their answers do not
	stallWatch  bool          // watches stay open, and show nothing; no list is answered
	holdPut     time.Duration // the next update waits for so long on its way, and its sender has long given up
	holdFences  time.Duration // so does each update of a fence
}

// request is what a request is about.
type request uint8

const (
	other   request = iota
	list            // or the opening of a watch
	update          // any, of those that are not named below
	renewal         // an update of a member's Lease
	fence           // an update of a shard's
)

func newLink(server http.Handler, seed uint64, t *tally) *link {
	return &link{server: server, tally: t, rnd: rand.New(rand.NewPCG(seed, 1)), cut: make(chan struct{}), fault: calm}
}

// calm is a network as it should be.
var calm = fault{latency: calmLatency}

const calmLatency = 40 * time.Millisecond

// Set changes what goes wrong. A partition, and the end of a stall, break the watches.
func (l *link) Set(f fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.partition || l.fault.stallWatch && !f.stallWatch {
		close(l.cut)
		l.cut = make(chan struct{})
	}
	l.fault = f
}

// fate is what happens to one request.
type fate struct {
	before, after time.Duration
	refused       error // it does not arrive
	answerLost    bool
	hold          time.Duration
}

func (l *link) draw(what request) (f fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.before = time.Duration(l.rnd.Int64N(int64(l.fault.latency) + 1))
	f.after = time.Duration(l.rnd.Int64N(int64(l.fault.latency) + 1))
	switch {
	case l.fault.partition:
		l.tally.fire(partitioned)
		f.refused = errCut
	case l.fault.noRenewals && what == renewal:
		l.tally.fire(renewalLost)
		f.refused = errLost
	case l.fault.stallWatch && what == list:
		l.tally.fire(watchStalled)
		f.refused = errLost
	case l.rnd.Float64() < l.fault.loseRequest:
		l.tally.fire(requestLost)
		f.refused = errLost
	case l.rnd.Float64() < l.fault.loseAnswer:
		l.tally.fire(answerLost)
		f.answerLost = true
	case what == fence && l.fault.holdFences > 0:
		l.tally.fire(handOverHeld)
		f.hold = l.fault.holdFences
	case what != other && l.fault.holdPut > 0:
		l.tally.fire(putHeld)
		f.hold, l.fault.holdPut = l.fault.holdPut, 0
	}
	if f.refused != nil {
		return f
	}
	if l.fault.lateAnswers && what == renewal {
		l.tally.fire(answerLate)
		f.after = 3500 * time.Millisecond
	} else if max(f.before, f.after) > calm.latency {
		l.tally.fire(slow)
	}
	return f
}

// Do lets arrive happen at the server, as the network allows. late says that the sender may have given up.
func (l *link) Do(ctx context.Context, what request, arrive func(late bool)) error {
	f := l.draw(what)
	if f.refused != nil {
		if f.refused == errLost { // its sender waits
			<-ctx.Done()
			return ctx.Err()
		}
		pause(ctx, f.before)
		return f.refused
	}
	if f.hold > 0 {
		l.held.Go(func() {
			time.Sleep(f.hold)
			arrive(true)
		})
		<-ctx.Done()
		return ctx.Err()
	}
	if !pause(ctx, f.before) {
		return ctx.Err()
	}
	arrive(false)
	if f.answerLost {
		<-ctx.Done()
		return ctx.Err()
	}
	if !pause(ctx, f.after) {
		return ctx.Err()
	}
	return nil
}

// pause reports whether the time passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// RoundTrip sends a request for Leases.
func (l *link) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("watch") != "" {
		return l.watch(req)
	}
	what := other
	switch isUpdate := req.Method == http.MethodPut; {
	case isUpdate && strings.Contains(req.URL.Path, "-member-"):
		what = renewal
	case isUpdate:
		what = fence
	case req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "s"):
		what = list
		if query := req.URL.Query(); l.lagging != nil && query.Get("resourceVersion") == "0" && strings.HasSuffix(req.URL.Path, "/configmaps") {
			query.Set("resourceVersion", l.lagging())
			query.Set("resourceVersionMatch", "Exact")
			req = req.Clone(req.Context())
			req.URL.RawQuery = query.Encode()
		}
	}
	body := []byte{}
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(req.Context(), transportTimeout)
	defer cancel()
	answer := httptest.NewRecorder()
	err := l.Do(ctx, what, func(bool) {
		arrived := req.Clone(context.WithoutCancel(req.Context()))
		arrived.Body = io.NopCloser(strings.NewReader(string(body)))
		l.server.ServeHTTP(answer, arrived)
	})
	if err != nil {
		return nil, err
	}
	response := answer.Result()
	response.Request = req
	return response, nil
}

// watch opens a stream. It is served in a goroutine, which ends with the stream.
func (l *link) watch(req *http.Request) (*http.Response, error) {
	opening, cancel := context.WithTimeout(req.Context(), transportTimeout)
	defer cancel()
	if err := l.Do(opening, list, func(bool) {}); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(req.Context())
	in, out := io.Pipe()
	w := &streamWriter{out: out, header: http.Header{}, begun: make(chan int, 1)}
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	context.AfterFunc(ctx, func() { _ = out.CloseWithError(errCut) })
	l.held.Go(func() {
		defer stop()
		l.server.ServeHTTP(w, req.Clone(ctx))
		w.WriteHeader(http.StatusOK)
		_ = out.Close()
	})
	l.held.Go(func() {
		select {
		case <-cut:
			stop()
		case <-ctx.Done():
		}
	})
	return &http.Response{
		StatusCode: <-w.begun, Header: w.header, Request: req, ProtoMajor: 1, ProtoMinor: 1,
		Body: &stream{ReadCloser: in, link: l, stop: stop, ctx: ctx},
	}, nil
}

// streamWriter writes a watch into a pipe.
type streamWriter struct {
	out    *io.PipeWriter
	header http.Header
	once   sync.Once
	begun  chan int
}

func (w *streamWriter) Header() http.Header { return w.header }
func (w *streamWriter) Flush()              {}
func (w *streamWriter) WriteHeader(code int) {
	w.once.Do(func() { w.begun <- code })
}

func (w *streamWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(b)
}

// stream is a watch that can stall.
type stream struct {
	io.ReadCloser
	link *link
	ctx  context.Context
	stop func()
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	s.link.mu.Lock()
	stalled := s.link.fault.stallWatch
	if stalled {
		s.link.tally.fire(watchStalled)
	}
	s.link.mu.Unlock()
	if stalled { // until Set breaks it
		<-s.ctx.Done()
		return 0, errCut
	}
	return n, err
}

func (s *stream) Close() error {
	s.stop()
	return s.ReadCloser.Close()
}
