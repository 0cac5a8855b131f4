package sharedinformer

import (
	"cmp"
	"context"
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/observe"
)

// listener serves one handler: its goroutine takes from the backlog and calls the handler, with no lock held.
//
//	service ends because          its backlog is  Err
//	DrainHandler                  delivered       nil
//	RemoveHandler                 dropped         nil
//	it was past its MaxBacklog    dropped         ErrBacklog
//	the handler called Goexit     dropped         ErrHandlerExited
//	Run has ended                 dropped         ErrStopped
//
// Done closes once the handler has returned from its last call.
type listener[T object] struct {
	reg     *Registration // what the user has of it
	handler Handler[T]
	opts    HandlerOptions
	backlog *backlog[T]                          // has a lock of its own
	observe func(observe.Step, *notification[T]) // the user's; may be nil

	// The informer's mutex protects these.
	schedule resyncSchedule
	served   bool // its goroutine was started
}

// run calls the handler until the backlog is dropped, or drained and empty.
func (l *listener[T]) run(ctx context.Context) {
	reason := fmt.Errorf("handler %s: %w", l.reg.name, ErrHandlerExited) // stays if the handler calls Goexit
	defer func() { l.finish(reason) }()
	for notes := l.backlog.take(); len(notes) > 0; notes = l.backlog.take() {
		l.deliver(ctx, notes)
	}
	reason = nil
}

// deliver calls the handler with each notification, until the backlog is dropped.
func (l *listener[T]) deliver(ctx context.Context, notes []notification[T]) {
	for j := range notes {
		if isClosed(l.backlog.dropped) {
			return
		}
		returned := l.callHandler(ctx, &notes[j])
		if !returned {
			pauseAfterCrash(l.backlog.dropped) // keeps a handler that always panics from filling the log
		}
	}
}

// callHandler calls the handler. The call counts however it ends. It returns false after a panic that
// utilruntime.HandleCrash let pass.
func (l *listener[T]) callHandler(ctx context.Context, n *notification[T]) (returned bool) {
	defer l.backlog.told(n)
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

// finish closes Done. The reason counts if the backlog was not dropped before for another one.
func (l *listener[T]) finish(reason error) {
	l.backlog.drop(reason)
	l.backlog.dropTaken()
	l.reg.life.keepLastError()
	l.reg.life.whyDone = cmp.Or(l.reg.Err(), errRemoved)
	close(l.reg.life.done)
}
