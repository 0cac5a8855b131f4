package sharedinformer

import "context"

// Registration is one handler's place in an informer. Its methods are safe for concurrent use.
type Registration struct {
	name         string
	informerDone <-chan struct{} // whose handler it is: a channel, as a pointer would keep the informer in memory
	life         lifecycle
	backlog      interface { // a *backlog[T], of the informer's T
		dropReason() error
		stats() HandlerStats
	}
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

func newRegistration[T object](name string, informer *lifecycle, b *backlog[T]) *Registration {
	return &Registration{
		name:         name,
		informerDone: informer.done,
		backlog:      b,
		life: lifecycle{
			who:       "handler " + name,
			synced:    b.synced,
			done:      make(chan struct{}),
			lastError: informer.lastError,
		},
	}
}

// Name returns the handler's name. No other handler of the informer gets it before this one is removed.
func (r *Registration) Name() string { return r.name }

// Err returns nil while the handler is served and after it was removed on demand. Otherwise it wraps ErrBacklog,
// ErrHandlerExited or ErrStopped, whichever ended the service.
func (r *Registration) Err() error { return r.backlog.dropReason() }

// Stats returns the counters of this moment.
func (r *Registration) Stats() HandlerStats {
	stats := r.backlog.stats()
	stats.Name = r.name
	return stats
}

// HasSynced reports whether Synced is closed.
func (r *Registration) HasSynced() bool { return isClosed(r.life.synced) }

// Synced is closed once the handler has returned from all adds of the initial list. So a handler must not wait for it in
// such an add. It stays open if the handler is removed or drained before its informer has synced.
func (r *Registration) Synced() <-chan struct{} { return r.life.synced }

// Done is closed when the handler has returned from its last call and will not be called again. The handler itself must
// not wait for it: it would wait for its own return.
func (r *Registration) Done() <-chan struct{} { return r.life.done }

// WaitForSync blocks until Synced is closed. If ctx ends or Done is closed first, the error says so, and wraps the cause
// and, if lists or watches failed to the last, the last of their errors.
func (r *Registration) WaitForSync(ctx context.Context) error {
	return r.life.waitForSync(ctx, r.life.done)
}
