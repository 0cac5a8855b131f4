package sharedinformer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/internal/shrink"
	"glasswatch/observe"
)

// listener serves one handler: the consumer appends to its backlog, one goroutine takes from it and calls the handler.
//
//	append ──▶ backlog ──next──▶ batch ──callHandler──▶ handler
//
// To end: drain or drop says that nothing more is appended. Once the handler has returned, finish closes Done.
//
//	cause                          begins with  backlog    Err               finish is called by
//	DrainHandler                   drain        delivered  nil               its goroutine
//	RemoveHandler                  drop         dropped    nil               its goroutine
//	past its MaxBacklog            drop         dropped    ErrBacklog        its goroutine
//	the handler calls Goexit       drop         dropped    ErrHandlerExited  its goroutine
//	Run ends                       drop         dropped    ErrStopped        its goroutine
//	removed before it was served   drop         dropped    nil               whoever removes it
type listener[T object] struct {
	reg     *Registration // what the user has of it: counters, and the mutex of the backlog
	handler Handler[T]
	opts    HandlerOptions
	observe func(observe.Step, *notification[T]) // the user's; may be nil

	// The informer's mutex protects these.
	resync        time.Duration // the period it gets; 0 is none
	nextResync    time.Time
	wantsResync   bool // it was due at the last check: it is told of a resync
	wantsRepeated bool // the same, or no check has come since it joined: it is told of what a relist shows unchanged
	served        bool // its goroutine was started

	dropped chan struct{} // closed by drop: what waits is not delivered

	// reg.mu protects the backlog.
	wake       sync.Cond          // something waits, or reg.closed
	buf        []notification[T]  // the backlog
	folding    *foldingBacklog[T] // if the handler folds, the backlog in place of buf; else nil
	delivering []notification[T]  // what was taken from it last; zeroed call by call
}

func newListener[T object](
	reg *Registration, h Handler[T], opts HandlerOptions, observe func(observe.Step, *notification[T]),
) *listener[T] {
	l := &listener[T]{
		reg: reg, handler: h, opts: opts, observe: observe, wantsRepeated: true, dropped: make(chan struct{}),
	}
	if opts.Fold {
		l.folding = newFoldingBacklog[T]()
	}
	l.wake.L = &reg.mu
	return l
}

// append adds a batch to the backlog, except what the listener does not want. It reports whether the handler keeps up:
// false is past its bound. It never blocks on the handler. The informer's mutex is held.
func (l *listener[T]) append(batch []notification[T]) (keepsUp bool) {
	r := l.reg
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return true
	}
	for j := range batch {
		n := &batch[j]
		switch {
		case !l.wants(n.cause):
			continue
		case l.folding != nil:
			l.foldLocked(n)
		default:
			l.buf = slices.Grow(l.buf, len(batch)-j) // for the rest at once: a first list is long, and handlers are many
			l.buf = append(l.buf, *n)
			r.waiting++
			if n.initial {
				r.pendingInitial++
			}
		}
	}
	l.wake.Signal()
	return l.opts.MaxBacklog <= 0 || r.waiting+r.underWay-r.pendingInitial <= l.opts.MaxBacklog
}

// foldLocked adds a notification to the folding backlog, and counts what has become of it there. An initial add that was
// folded away counts as delivered, so the handler may have synced.
func (l *listener[T]) foldLocked(n *notification[T]) {
	r := l.reg
	initialBefore := l.folding.initial
	merged := l.folding.add(n)
	r.waiting = len(l.folding.byKey)
	r.pendingInitial += l.folding.initial - initialBefore
	if merged {
		r.folds++
		r.closeIfSyncedLocked()
	}
}

// next blocks until there is something to deliver, and takes it from the backlog. It returns nothing once the listener
// is drained or dropped. The slice is valid until the next call.
func (l *listener[T]) next() (batch []notification[T]) {
	r := l.reg
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.waiting == 0 && !r.closed {
		if shrink.IsDue(max(cap(l.buf), cap(l.delivering)), 0) {
			l.buf, l.delivering = nil, nil
		}
		l.wake.Wait()
	}
	if r.waiting == 0 || isClosed(l.dropped) {
		return nil
	}
	if l.folding != nil { // one change, since what is not yet at the handler can still be folded
		l.delivering = l.folding.removeFirst(l.delivering[:0])
		r.waiting--
		r.underWay = 1
	} else { // all of them
		l.buf, l.delivering = l.delivering[:0], l.buf
		r.waiting = 0
		r.underWay = len(l.delivering)
	}
	return l.delivering
}

// run calls the handler until the listener is drained or dropped. It closes Done.
func (l *listener[T]) run(ctx context.Context) {
	exited := true // until the loop has ended: a handler may call Goexit
	defer func() {
		if exited {
			l.drop(fmt.Errorf("handler %s: %w", l.reg.name, ErrHandlerExited))
		}
		l.finish()
	}()
	for batch := l.next(); len(batch) > 0; batch = l.next() {
		l.deliver(ctx, batch)
	}
	exited = false
}

// deliver calls the handler with each notification, until it is dropped.
func (l *listener[T]) deliver(ctx context.Context, batch []notification[T]) {
	for j := range batch {
		if isClosed(l.dropped) {
			return
		}
		returned := l.callHandler(ctx, &batch[j])
		if !returned {
			pauseAfterCrash(l.dropped) // keeps a handler that always panics from filling the log
		}
	}
}

// callHandler calls the handler. The call counts however it ends. It returns false after a panic that
// utilruntime.HandleCrash let pass.
func (l *listener[T]) callHandler(ctx context.Context, n *notification[T]) (returned bool) {
	defer l.countDelivered(n)
	defer utilruntime.HandleCrashWithContext(ctx)
	if l.observe != nil {
		l.observe(observe.Called, n)
	}
	n.call(l.handler)
	if l.observe != nil {
		l.observe(observe.Returned, n)
	}
	return true
}

// countDelivered counts a call of the handler, and zeroes it: a backlog keeps no object alive.
func (l *listener[T]) countDelivered(n *notification[T]) {
	l.reg.countCall(n.initial, !n.moreFollows)
	*n = notification[T]{}
}

// drain ends the service once the backlog is delivered: nothing more is appended to it.
func (l *listener[T]) drain() {
	l.reg.mu.Lock()
	defer l.reg.mu.Unlock()
	l.reg.closed = true
	l.wake.Signal()
}

// drop ends the service after the call that the handler is at. Only the first reason counts, and none after the end.
func (l *listener[T]) drop(reason error) {
	l.reg.mu.Lock()
	defer l.reg.mu.Unlock()
	if isClosed(l.dropped) || isClosed(l.reg.life.done) {
		return
	}
	l.reg.err = reason
	l.reg.closed = true
	close(l.dropped)
	l.wake.Signal()
}

// finish frees the backlog and closes Done. Nobody else may be serving the handler.
func (l *listener[T]) finish() {
	l.reg.life.keepLastError()
	l.reg.mu.Lock()
	defer l.reg.mu.Unlock()
	l.buf, l.delivering, l.folding = nil, nil, nil
	l.reg.waiting, l.reg.underWay = 0, 0
	l.reg.life.whyDone = cmp.Or(l.reg.err, errRemoved)
	close(l.reg.life.done)
}
