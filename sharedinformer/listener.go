package sharedinformer

import (
	"context"
	"fmt"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// crashPause is how long a handler that panicked is left alone, if a panic does not end the process.
const crashPause = time.Second

// listener serves one handler: the informer appends to its backlog, one goroutine takes from it and calls the handler.
//
//	append ──▶ backlog ──next──▶ batch ──call──▶ handler
type listener[T object] struct {
	*Registration
	handler    Handler[T]
	maxBacklog int
	informer   string            // its name
	observe    func(Observation) // may be nil

	// Guarded by the informer's mutex.
	resync     time.Duration // the period it gets; 0 is none
	nextResync time.Time
	due        resyncState
	running    bool // its goroutine was started

	dropped chan struct{} // closed by drop

	// Guarded by Registration.mu.
	wake    sync.Cond // on mu: there is something in the backlog, or closed
	backlog backlog[T]
	closed  bool // nothing is appended any more
}

func newListener[T object](r *Registration, h Handler[T], opts HandlerOptions) *listener[T] {
	l := &listener[T]{
		Registration: r,
		handler:      h,
		maxBacklog:   opts.MaxBacklog,
		dropped:      make(chan struct{}),
		backlog:      &plainBacklog[T]{},
	}
	if opts.Fold {
		l.backlog = newFoldingBacklog[T]()
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
		if n.sameVersion && (l.due == notDue || n.resync && l.due == neverChecked) {
			continue
		}
		if n.initial {
			l.pendingInitial++
		}
		folds, lostInitial := l.backlog.add(n)
		l.folds += folds
		l.pendingInitial -= lostInitial
	}
	l.waiting = l.backlog.len()
	l.checkSyncLocked()
	l.wake.Signal()
	return l.maxBacklog <= 0 || l.depthLocked()-l.pendingInitial <= l.maxBacklog
}

// close ends the service once the backlog is delivered.
func (l *listener[T]) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake.Signal()
}

// drop ends the service after the call the handler is at. Only the first err counts.
func (l *listener[T]) drop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if isClosed(l.dropped) {
		return
	}
	l.err = err
	l.closed = true
	close(l.dropped)
	l.wake.Signal()
}

// run calls the handler until the listener is closed. It closes Done.
func (l *listener[T]) run(ctx context.Context) {
	exited := true // unless it comes back
	defer func() {
		if exited {
			l.drop(fmt.Errorf("handler %s: %w", l.name, ErrHandlerExited))
		}
		l.finish()
	}()
	for {
		batch := l.next()
		if len(batch) == 0 {
			exited = false
			return
		}
		for j := 0; j < len(batch) && !isClosed(l.dropped); j++ {
			if !l.call(ctx, &batch[j]) {
				pause(l.dropped) // keeps a handler that always panics from filling the log
			}
		}
	}
}

// next blocks until there is something to deliver. It returns nothing when the listener is at its end.
func (l *listener[T]) next() []notification[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !isClosed(l.dropped) {
		if batch := l.backlog.take(); len(batch) > 0 {
			l.waiting = l.backlog.len()
			l.taken += uint64(len(batch))
			return batch
		}
		l.backlog.idle()
		if l.closed {
			return nil
		}
		l.wake.Wait()
	}
	return nil
}

// call tells the handler of n. It returns false after a panic that utilruntime.HandleCrash let pass.
func (l *listener[T]) call(ctx context.Context, n *notification[T]) (returned bool) {
	defer l.settle(n)
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

// settle counts n as delivered, and zeroes it.
func (l *listener[T]) settle(n *notification[T]) {
	if !n.initial {
		l.delivered.Add(1)
	} else {
		l.settleInitial()
	}
	*n = notification[T]{}
}

// finish frees the backlog and closes Done. Nobody else may be serving the handler.
func (l *listener[T]) finish() {
	l.mu.Lock()
	l.closed = true
	l.backlog = &plainBacklog[T]{}
	l.waiting, l.taken = 0, l.delivered.Load()
	l.mu.Unlock()
	close(l.done)
}
