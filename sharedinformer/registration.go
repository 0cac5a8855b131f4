package sharedinformer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// NoResync as a handler's resync period means that it wants none, whatever the informer's default is.
const NoResync time.Duration = -1

// The errors of informers and registrations. They come wrapped, with the informer's or the handler's name.
var (
	// ErrStarted: Run was called a second time.
	ErrStarted = errors.New("informer was already started")
	// ErrStopped: the informer has stopped.
	ErrStopped = errors.New("informer has stopped")
	// ErrBacklog: a handler was removed because its backlog grew past its MaxBacklog.
	ErrBacklog = errors.New("backlog over its bound")
	// ErrUnknownHandler: the registration is nil or another informer's.
	ErrUnknownHandler = errors.New("handler is not one of this informer's")
	// ErrHandlerExited: a handler was removed because it called runtime.Goexit, as FailNow of a test does.
	ErrHandlerExited = errors.New("handler has ended its goroutine")
)

// HandlerOptions say how a handler is served. The zero value gives it every change, without a bound.
type HandlerOptions struct {
	// Name is for errors, logs and metrics; by default "handler". If another handler of the informer has it, a number
	// is appended.
	Name string
	// ResyncPeriod is how often the handler is given every object again, as an update; 0 is the informer's default,
	// NoResync is never. Less than a second counts as a second. An informer without a resync period gives none at all.
	// On one that runs, a period shorter than its check period counts as the check period: see "Resync" in doc.go.
	ResyncPeriod time.Duration
	// Fold merges the changes of one object that wait for the handler into one. See "Folding" in doc.go.
	Fold bool
	// MaxBacklog bounds the changes whose calls have not ended: those that wait and the one under way, without initial
	// adds. One more removes the handler: its Done closes and Err returns ErrBacklog. With InOrder up to 1000 events,
	// or a whole resync or relist, arrive as one batch. A batch longer than the bound removes even an idle handler; of
	// one that folds, a batch about more objects. 0 is no bound.
	MaxBacklog int
	// Context is given to utilruntime's panic handlers if the handler panics: its logger is the one they log to. By
	// default it is that of the informer's Run.
	Context context.Context
}

// Registration is one handler's place in an informer. Its methods are safe for concurrent use.
type Registration struct {
	waitable
	name         string
	owner        <-chan struct{} // the informer's done: tells informers apart
	allDelivered chan struct{}   // is synced

	mu        sync.Mutex // protects what follows
	err       error
	lastError func() error // the informer's, until done
	// waiting is the number of changes in the backlog, underWay that of those taken from it and not yet delivered.
	waiting, underWay int
	folds, delivered  uint64
	// pendingInitial counts the initial adds that were appended and neither delivered nor folded away.
	// Invariant: never negative; synced is closed only at zero.
	pendingInitial int
	upstreamSynced bool // every add of the initial list was appended
	closed         bool // nothing is appended any more
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

func newRegistration(name string, owner <-chan struct{}, lastError func() error) *Registration {
	r := &Registration{name: name, owner: owner, lastError: lastError, allDelivered: make(chan struct{})}
	r.waitable = waitable{"handler " + name, r.allDelivered, make(chan struct{}), r.why}
	return r
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

// why says why the handler is gone, and what the informer's last error of lists and watches is.
func (r *Registration) why() (ended, last error) {
	r.mu.Lock()
	ended, lastError := r.err, r.lastError
	r.mu.Unlock()
	return cmp.Or(ended, errors.New("it was removed")), lastError()
}

// Wait blocks until the handler has returned from its last call and will not be called again, or until ctx ends. It
// does not remove the handler: that is left to others. The handler itself must not wait: it would wait for its return.
func (r *Registration) Wait(ctx context.Context) error {
	select {
	case <-r.done:
	case <-ctx.Done():
	}
	if isClosed(r.done) {
		return nil
	}
	return fmt.Errorf("handler %s has not ended: %w", r.name, context.Cause(ctx))
}

// markUpstreamSynced says that every add of the initial list has been appended, unless the backlog was closed before.
func (r *Registration) markUpstreamSynced() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.upstreamSynced = !r.closed
	r.checkSyncLocked()
}

// checkSyncLocked closes allDelivered, which is synced, once nothing of the initial list is missing.
func (r *Registration) checkSyncLocked() {
	if r.upstreamSynced && r.pendingInitial == 0 && !isClosed(r.synced) {
		close(r.allDelivered)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
