package sharedinformer

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// NoResync as a handler's resync period means that it wants none, whatever the informer's default is.
const NoResync time.Duration = -1

// HandlerOptions say how a handler is served. The zero value gives it every change, without a bound.
type HandlerOptions struct {
	// Name is for errors, logs and metrics; by default "handler". If another handler of the informer has it, a number
	// is appended.
	Name string
	// ResyncPeriod is how often the handler is given every object again, as an update; 0 is the informer's default,
	// NoResync is never. Less than a second counts as a second. An informer without a resync period gives none at all.
	// On one that runs, less than its check period counts as the check period: see "Resync" in the package's doc.
	ResyncPeriod time.Duration
	// Fold merges the changes of one object that wait for the handler into one. See "Folding" in the package's doc.
	Fold bool
	// MaxBacklog bounds the changes that wait for the handler, the one that it is at included, without initial adds. One
	// more removes the handler: its Done closes and Err returns ErrBacklog. 0 is no bound.
	//
	// With InOrder up to 1000 events, or a whole resync or relist, come as one batch. A batch that is longer than the
	// bound removes even an idle handler; with Fold, a batch about more objects than the bound.
	MaxBacklog int
	// Context is given to utilruntime's panic handlers if the handler panics: its logger is the one they log to. By
	// default it is that of the informer's Run.
	Context context.Context
}

// Registration is one handler's place in an informer. Its methods are safe for concurrent use.
type Registration struct {
	name         string
	informerDone <-chan struct{} // whose handler it is: a channel, as a pointer would keep the informer in memory
	life         lifecycle

	mu     sync.Mutex // protects what follows, and the listener's backlog
	err    error
	closed bool // nothing is appended any more
	// waiting is the number of changes in the backlog, underWay that of those taken from it and not yet delivered.
	waiting, underWay int
	folds, delivered  uint64
	// pendingInitial counts the initial adds that were appended and neither delivered nor folded away.
	// Invariant: never negative; life.synced is closed only at zero.
	pendingInitial int
	upstreamSynced bool // every add of the initial list was appended
}

// HandlerStats are a moment of a registration.
type HandlerStats struct {
	Name string
	// Depth is the number of changes that wait for the handler, the one it is at included.
	Depth int
	// Folds counts the changes that were merged into one that waited already.
	Folds uint64
	// Delivered counts the calls of the handler.
	Delivered uint64
	Synced    bool
}

func newRegistration(name string, informerDone <-chan struct{}, lastError func() error) *Registration {
	return &Registration{
		name:         name,
		informerDone: informerDone,
		life: lifecycle{
			who:       "handler " + name,
			synced:    make(chan struct{}),
			done:      make(chan struct{}),
			lastError: lastError,
		},
	}
}

// Name returns the handler's name. No other handler of the informer gets it before this one is removed.
func (r *Registration) Name() string { return r.name }

// Err returns nil while the handler is served and after it was removed on demand. Otherwise it wraps ErrBacklog,
// ErrHandlerExited or ErrStopped, whichever ended the service.
func (r *Registration) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Stats returns the counters of this moment.
func (r *Registration) Stats() HandlerStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return HandlerStats{
		Name:      r.name,
		Depth:     r.waiting + r.underWay,
		Folds:     r.folds,
		Delivered: r.delivered,
		Synced:    r.HasSynced(),
	}
}

// HasSynced reports whether Synced is closed.
func (r *Registration) HasSynced() bool { return isClosed(r.life.synced) }

// Synced is closed once the handler has returned from all adds of the initial list. So a handler must not wait for it in
// such an add. It stays open if the handler is removed or drained before its informer has synced.
func (r *Registration) Synced() <-chan struct{} { return r.life.synced }

// Done is closed when the handler has returned from its last call and will not be called again.
func (r *Registration) Done() <-chan struct{} { return r.life.done }

// WaitForSync blocks until Synced is closed. If ctx ends or Done is closed first, the error says so, and wraps the cause
// and, if lists or watches failed to the last, the last of their errors.
func (r *Registration) WaitForSync(ctx context.Context) error { return r.life.waitForSync(ctx) }

// Wait blocks until Done is closed, or until ctx ends. It does not remove the handler: that is left to others. The
// handler itself must not wait: it would wait for its own return.
func (r *Registration) Wait(ctx context.Context) error {
	select {
	case <-r.life.done:
	case <-ctx.Done():
	}
	if isClosed(r.life.done) {
		return nil
	}
	return fmt.Errorf("handler %s has not ended: %w", r.name, context.Cause(ctx))
}

// countCall counts a call of the handler that has ended. endsChange: the change that it tells of has no further call.
func (r *Registration) countCall(initial, endsChange bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delivered++
	if endsChange {
		r.underWay--
	}
	if initial {
		r.pendingInitial--
		r.closeIfSyncedLocked()
	}
}

// markUpstreamSynced says that every add of the initial list has been appended. A handler that was removed or drained
// before was not given all of them, so it never syncs.
func (r *Registration) markUpstreamSynced() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.upstreamSynced = true
	r.closeIfSyncedLocked()
}

// closeIfSyncedLocked closes life.synced once nothing of the initial list is missing.
func (r *Registration) closeIfSyncedLocked() {
	if r.upstreamSynced && r.pendingInitial == 0 && !r.HasSynced() {
		close(r.life.synced)
	}
}
