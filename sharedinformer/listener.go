package sharedinformer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/listwatch"
)

// crashPause is how long a handler that panicked is left alone, if a panic does not end the process.
const crashPause = time.Second

// listener serves one handler: the informer appends to its backlog, one goroutine takes from it and calls the handler.
type listener[T listwatch.Object] struct {
	*Registration
	handler    Handler[T]
	maxBacklog int
	informer   string            // its name
	observe    func(Observation) // may be nil

	// Guarded by the informer's mutex.
	resync     time.Duration // what it gets; 0 is none
	nextResync time.Time
	due        dueness
	running    bool // its goroutine was started

	dropped  chan struct{} // closed by drop
	dropping atomic.Bool   // set before dropped is closed; cheaper to ask between two calls

	mu      sync.Mutex // protects backlog, waiting and closed
	wake    sync.Cond  // on mu: there is something in the backlog, or closed
	backlog backlog[T]
	closed  bool // nothing is appended any more
}

func newListener[T listwatch.Object](r *Registration, h Handler[T], opts HandlerOptions) *listener[T] {
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
	var sum effect
	var initial int64
	from := 0 // batch[from:i] is for the handler: nearly always all of it
	for i := range batch {
		n := &batch[i]
		if n.sameVersion && (l.due == notDue || n.resync && l.due == notLookedAt) {
			sum.add(l.backlog.append(batch[from:i]))
			from = i + 1
			continue
		}
		if n.initial {
			initial++
		}
	}
	sum.add(l.backlog.append(batch[from:]))
	l.count(initial, sum)
	// Read before depth: deliveries go on meanwhile and take off both, and too large a difference would cost the handler
	// its place.
	pending := l.pendingInitial.Load()
	depth := l.depth()
	l.wake.Signal()
	return l.maxBacklog <= 0 || depth-pending <= int64(l.maxBacklog)
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
	if l.dropping.Load() {
		return
	}
	l.setErr(err)
	l.closed = true
	l.dropping.Store(true)
	close(l.dropped)
	l.wake.Signal()
}

// run calls the handler until the listener is closed. It closes Done.
func (l *listener[T]) run(ctx context.Context) {
	l.goroutine.Store(goroutineID())
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
		for at := 0; at < len(batch) && !l.dropping.Load(); {
			var crashed bool
			if at, crashed = l.deliver(ctx, batch, at); crashed {
				pause(l.dropped) // keeps a handler that always panics from filling the log
			}
		}
	}
}

// next blocks until there is something to deliver. It returns nothing when the listener is at its end.
func (l *listener[T]) next() []notification[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.dropping.Load() {
		if batch := l.backlog.take(); len(batch) > 0 {
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

// deliver calls the handler for batch[at:], zeroing what it delivered, and returns where it stopped: at the end, because
// the listener was dropped, or after a panic that utilruntime.HandleCrash let pass.
func (l *listener[T]) deliver(ctx context.Context, batch []notification[T], at int) (next int, crashed bool) {
	defer utilruntime.HandleCrashWithContext(ctx)
	next = at
	var n notification[T]
	defer func() {
		if crashed {
			l.settle(&n) // it is not delivered again, so nobody may wait for it
		}
	}()
	for next < len(batch) && !l.dropping.Load() {
		n = batch[next]
		batch[next] = notification[T]{}
		next++
		crashed = true
		if l.observe != nil {
			l.observe(handling(HandlerCalled, l.informer, l.name, &n))
		}
		n.tell(l.handler)
		if l.observe != nil {
			l.observe(handling(HandlerReturned, l.informer, l.name, &n))
		}
		crashed = false
		l.settle(&n)
	}
	return next, false
}

// settle counts n as delivered.
func (l *listener[T]) settle(n *notification[T]) {
	if n.part {
		l.parts.Add(1)
	} else {
		l.settled.Add(1)
	}
	if n.initial {
		l.settleInitial(1)
	}
}

// finish frees the backlog and closes Done. Nobody else may be serving the handler.
func (l *listener[T]) finish() {
	l.mu.Lock()
	l.closed = true
	l.backlog = &plainBacklog[T]{}
	l.appended.Store(l.settled.Load()) // nothing waits
	l.mu.Unlock()
	close(l.done)
}

// backlogError is the Err of a handler that fell behind too far.
func (l *listener[T]) backlogError() error {
	return fmt.Errorf("handler %s: %w of %d", l.name, ErrBacklog, l.maxBacklog)
}
