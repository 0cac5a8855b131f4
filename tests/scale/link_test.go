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
	// lagging returns the version of the server's cache of ConfigMaps, which answers if any version will do.
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
		if strings.HasSuffix(req.URL.Path, "/configmaps") {
			req = l.fromCache(req)
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

// fromCache makes a list that takes any version one of the version that the server's cache has.
func (l *link) fromCache(req *http.Request) *http.Request {
	query := req.URL.Query()
	if query.Get("resourceVersion") == "0" {
		query.Set("resourceVersion", l.lagging())
		query.Set("resourceVersionMatch", "Exact")
		req = req.Clone(req.Context())
		req.URL.RawQuery = query.Encode()
	}
	return req
}
