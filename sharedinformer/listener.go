package sharedinformer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/internal/shrink"
)

// crashPause is how long a handler that panicked is left alone, if a panic does not end the process.
const crashPause = time.Second

// listener serves one handler: the informer appends to its backlog, one goroutine takes from it and calls the handler.
//
//	append ──▶ backlog ──next──▶ batch ──call──▶ handler
type listener[T object] struct {
	*Registration
	handler  Handler[T]
	opts     HandlerOptions
	informer string            // its name
	observe  func(Observation) // may be nil

	// Guarded by the informer's mutex.
	resync     time.Duration // the period it gets; 0 is none
	nextResync time.Time
	due        resyncState
	running    bool // its goroutine was started

	dropped chan struct{} // closed by drop

	// Guarded by Registration.mu.
	wake sync.Cond // on mu: something waits, or closed
	// buf is the backlog. delivering is the batch that was taken last; its memory becomes the next buf.
	buf, delivering []notification[T]
	folding         *foldingBacklog[T] // the backlog in place of buf, or nil
}

func newListener[T object](r *Registration, h Handler[T], opts HandlerOptions) *listener[T] {
	l := &listener[T]{Registration: r, handler: h, opts: opts, dropped: make(chan struct{})}
	if opts.Fold {
		l.folding = newFoldingBacklog[T]()
	}
	l.wake.L = &l.mu
	return l
}

// append adds a batch to the backlog and reports whether the handler keeps up: false is past its bound. It never blocks
// on the handler.
func (l *listener[T]) append(batch []notification[T]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return true
	}
	for j := range batch {
		n := &batch[j]
		// A resync is for listeners that are due, a relist's unchanged objects also for those neverChecked.
		if n.sameVersion && (l.due == notDue || n.resync && l.due == neverChecked) {
			continue
		}
		l.waiting++
		if n.initial {
			l.pendingInitial++
		}
		if l.folding != nil {
			l.folding.add(n, l.Registration)
		} else {
			l.buf = append(slices.Grow(l.buf, len(batch)-j), *n) // a first list is long, and handlers are many
		}
	}
	l.wake.Signal()
	return l.opts.MaxBacklog <= 0 || l.waiting+l.underWay-l.pendingInitial <= l.opts.MaxBacklog
}

// drain ends the service once the backlog is delivered.
func (l *listener[T]) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake.Signal()
}

// drop ends the service after the call the handler is at. Only the first err counts, and none after the end.
func (l *listener[T]) drop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if isClosed(l.dropped) || isClosed(l.done) {
		return
	}
	l.err = err
	l.closed = true
	close(l.dropped)
	l.wake.Signal()
}

// run calls the handler until the listener is drained or dropped. It closes Done.
func (l *listener[T]) run(ctx context.Context) {
	exited := true // unless it comes back
	defer func() {
		if exited {
			l.drop(fmt.Errorf("handler %s: %w", l.name, ErrHandlerExited))
		}
		l.finish()
	}()
	for batch := l.next(); len(batch) > 0; batch = l.next() {
		for j := 0; j < len(batch) && !isClosed(l.dropped); j++ {
			if !l.call(ctx, &batch[j]) {
				pause(l.dropped) // keeps a handler that always panics from filling the log
			}
		}
	}
	exited = false
}

// next blocks until there is something to deliver. It returns nothing when the listener is at its end. The slice is
// valid until the next call, and zeroed by then.
func (l *listener[T]) next() (batch []notification[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.waiting == 0 && !l.closed {
		if shrink.IsDue(max(cap(l.buf), cap(l.delivering)), 0) {
			l.buf, l.delivering = nil, nil
		}
		l.wake.Wait()
	}
	switch {
	case l.waiting == 0 || isClosed(l.dropped):
		return nil
	case l.folding != nil:
		batch = l.folding.removeFirst()
		l.waiting--
	default:
		batch = l.buf
		l.buf, l.delivering = l.delivering[:0], batch
		l.waiting = 0
	}
	l.underWay = len(batch)
	return batch
}

// call tells the handler of n. It returns false after a panic that utilruntime.HandleCrash let pass.
func (l *listener[T]) call(ctx context.Context, n *notification[T]) (returned bool) {
	defer l.countDelivered(n)
	defer utilruntime.HandleCrashWithContext(ctx)
	if l.observe != nil {
		l.observe(handling(HandlerCalled, l.informer, l.name, n))
	}
	n.tell(l.handler)
	if l.observe != nil {
		l.observe(handling(HandlerReturned, l.informer, l.name, n))
	}
	return true
}

// countDelivered counts n as delivered, and zeroes it.
func (l *listener[T]) countDelivered(n *notification[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delivered++
	l.underWay--
	if n.initial {
		l.pendingInitial--
		l.checkSyncLocked()
	}
	*n = notification[T]{}
}

// finish frees the backlog and closes Done. Nobody else may be serving the handler.
func (l *listener[T]) finish() {
	err := l.lastError()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastError = func() error { return err } // a registration must not keep a stopped informer in memory
	l.buf, l.delivering, l.folding = nil, nil, nil
	l.waiting, l.underWay = 0, 0
	close(l.done)
}
