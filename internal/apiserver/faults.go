package apiserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Faults makes a Server misbehave on purpose. Its methods may be called at any time from any goroutine; they
// do not block.
type Faults struct {
	server *Server

	mu           sync.Mutex // protects what follows
	failures     []plannedFailure
	delay        time.Duration
	cuts         int // frames yet to be cut in half
	garbage      int // frames yet to be replaced by garbage
	noBookmarks  bool
	noInitialEnd bool
	noWatchList  bool
	watches      map[*watchControl]struct{}
}

// watchControl is how a running watch is ended from outside.
type watchControl struct{ orders chan order } // capacity 1

type order struct {
	abort  bool           // tear the connection instead of ending the stream cleanly
	status *metav1.Status // send this as an ERROR event first
}

type plannedFailure struct {
	left    int
	failure Failure
}

// Failure describes requests and the answer they get.
type Failure struct {
	Verb     string // get, list, watch, create, update, patch, delete, deletecollection; "" is any
	Resource string // plural, such as "services"; "" is any
	// Subresource restricts the failure to it; "" is any.
	Subresource string

	Code       int                 // HTTP status; 0 tears the connection without an answer
	Reason     metav1.StatusReason // "" stands for the usual reason of Code
	Message    string              // "" stands for a fixed text
	RetryAfter time.Duration       // sent in whole seconds as a Retry-After header if not 0
}

func newFaults(s *Server) *Faults {
	return &Faults{server: s, watches: map[*watchControl]struct{}{}}
}

// Faults returns the knobs of this server.
func (s *Server) Faults() *Faults { return s.faults }

// FailNext lets the next n requests that match f fail. A negative n means all until Reset. Failures planned
// earlier come first.
func (f *Faults) FailNext(n int, failure Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, plannedFailure{n, failure})
}

// Delay makes every request wait before it is handled; 0 ends it.
func (f *Faults) Delay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// Compact forgets history: pages, exact lists and watches from before the current revision answer 410 Expired. Watches
// that are running go on.
func (f *Faults) Compact() { f.server.store.Compact() }

// CompactTo does that to all before a revision. A real server does it every five minutes, to the revision of five minutes ago.
func (f *Faults) CompactTo(revision int64) { f.server.store.CompactTo(revision) }

// DropWatches ends every running watch cleanly, between two frames, and returns how many those were.
func (f *Faults) DropWatches() int { return f.order(order{}) }

// BreakWatches tears the connection of every running watch, without the end of the chunked body.
func (f *Faults) BreakWatches() int { return f.order(order{abort: true}) }

// ExpireWatches sends every running watch an ERROR event with a 410 Expired and ends it.
func (f *Faults) ExpireWatches() int {
	status := apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.").Status()
	return f.order(order{status: &status})
}

// CutNextFrame lets the next watch event end in the middle of its frame, with the connection torn.
func (f *Faults) CutNextFrame() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cuts++
}

// GarbleNextFrame replaces the object of the next watch event by bytes that no decoder takes. The stream goes on.
func (f *Faults) GarbleNextFrame() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.garbage++
}

// StopBookmarks switches periodic bookmarks off or on again. Bookmarks that end initial events stay on.
func (f *Faults) StopBookmarks(stop bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noBookmarks = stop
}

// NeverSendInitialBookmark switches the bookmark that ends initial events off or on again.
func (f *Faults) NeverSendInitialBookmark(never bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noInitialEnd = never
}

// RefuseStreamingLists makes sendInitialEvents forbidden (422), as on a server without the WatchList feature.
func (f *Faults) RefuseStreamingLists(refuse bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noWatchList = refuse
}

// Reset ends all faults that have not happened yet.
func (f *Faults) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures, f.delay, f.cuts, f.garbage = nil, 0, 0, 0
	f.noBookmarks, f.noInitialEnd, f.noWatchList = false, false, false
}

// Watches is the number of running watches.
func (f *Faults) Watches() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.watches)
}

func (f *Faults) order(o order) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watches {
		select {
		case w.orders <- o:
		default: // it is ending already
		}
	}
	return len(f.watches)
}

func (f *Faults) enter() *watchControl {
	w := &watchControl{orders: make(chan order, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watches[w] = struct{}{}
	return w
}

func (f *Faults) leave(w *watchControl) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watches, w)
}

// frame says what is to happen to the next frame.
func (f *Faults) frame() (cut, garble bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.cuts > 0:
		f.cuts--
		return true, false
	case f.garbage > 0:
		f.garbage--
		return false, true
	}
	return false, false
}

func (f *Faults) bookmarks() (periodic, initialEnd bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.noBookmarks, !f.noInitialEnd
}

func (f *Faults) streamingLists() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.noWatchList
}

// before delays a request and fails it if that is planned.
func (f *Faults) before(ctx context.Context, r *request) error {
	f.mu.Lock()
	delay := f.delay
	failure, fail := f.takeLocked(r)
	f.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			panic(http.ErrAbortHandler)
		}
	}
	switch {
	case !fail:
		return nil
	case failure.Code == 0:
		panic(http.ErrAbortHandler)
	}
	return failure.status(r)
}

func (f *Faults) takeLocked(r *request) (Failure, bool) {
	for i := range f.failures {
		p := &f.failures[i]
		if p.left == 0 || !p.failure.matches(r) {
			continue
		}
		if p.left > 0 {
			p.left--
		}
		return p.failure, true
	}
	return Failure{}, false
}

func (f Failure) matches(r *request) bool {
	return (f.Verb == "" || f.Verb == r.verb) &&
		(f.Resource == "" || f.Resource == r.target.resource) &&
		(f.Subresource == "" || f.Subresource == r.target.subresource)
}

func (f Failure) status(r *request) error {
	message := f.Message
	if message == "" {
		message = "a fault was injected"
	}
	seconds := int(f.RetryAfter / time.Second)
	err := apierrors.NewGenericServerResponse(f.Code, r.verb, r.groupResource(), r.target.name, message, seconds, true)
	err.ErrStatus.Message = message
	switch {
	case f.Reason != "":
		err.ErrStatus.Reason = f.Reason
	case f.Code == http.StatusGone:
		err.ErrStatus.Reason = metav1.StatusReasonExpired
	}
	return err
}
