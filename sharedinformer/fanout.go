package sharedinformer

import (
	"context"
	"fmt"
	"slices"
	"weak"

	"k8s.io/klog/v2"

	"glasswatch/listwatch"
)

type object = listwatch.Object

// AddHandler registers a handler, before or while the informer runs. A handler that comes late is first given the whole
// store as adds of its initial list; it misses nothing after that and sees nothing twice. AddHandler does not wait for
// that; it may be called from a handler. On a stopped informer it returns ErrStopped.
func (i *Informer[T]) AddHandler(h Handler[T], opts HandlerOptions) (*Registration, error) {
	if h == nil {
		return nil, fmt.Errorf("informer %s: the handler is nil", i.opts.Name)
	}
	r, raised, err := i.register(h, opts)
	if raised != "" {
		klog.Background().Info("Resync period of a handler is not what it asked for", "handler", r.name, "asked", opts.ResyncPeriod, "reason", raised)
	}
	return r, err
}

// register is AddHandler under the mutex. raised says why the handler gets another resync period than it asked for.
func (i *Informer[T]) register(h Handler[T], opts HandlerOptions) (r *Registration, raised string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped {
		return nil, "", fmt.Errorf("informer %s: handler not added: %w", i.opts.Name, ErrStopped)
	}
	l := newListener(i.newRegistrationLocked(h, opts.Name), h, opts)
	l.lastError = i.weakLastError()
	l.informer, l.observe = i.opts.Name, i.opts.Observe
	raised = i.setResyncLocked(l, opts.ResyncPeriod)
	i.listeners = append(i.listeners, l)
	if !i.started {
		return l.Registration, raised, nil
	}
	if n := i.store.Len(); n > 0 {
		batch := make([]notification[T], 0, n)
		for _, obj := range i.store.All() {
			batch = append(batch, notification[T]{kind: added, initial: true, obj: obj})
		}
		l.append(batch)
	}
	if i.HasSynced() {
		l.markUpstreamSynced()
	}
	i.serveLocked(l)
	return l.Registration, raised, nil
}

// RemoveHandler ends a handler's service and drops what waits for it. It does not wait: a call may be under way, and Done
// closes after it. So it may be called from the handler itself, which must not wait for Done. A handler that is gone
// already is no error.
func (i *Informer[T]) RemoveHandler(r *Registration) error {
	return i.remove(r, func(l *listener[T]) { i.removeLocked(l, nil) })
}

// DrainHandler is RemoveHandler, except that what waits for the handler is delivered before Done closes. A handler that
// was never served, because the informer does not run, is gone at once.
func (i *Informer[T]) DrainHandler(r *Registration) error {
	return i.remove(r, func(l *listener[T]) {
		if !l.running {
			i.removeLocked(l, nil)
			return
		}
		l.close() // it leaves the list when its goroutine ends
	})
}

// ShutDownHandler is RemoveHandler, and waits until the handler has returned from its last call, or ctx ends. Called from
// the handler itself it removes it and returns ErrSelfWait.
func (i *Informer[T]) ShutDownHandler(ctx context.Context, r *Registration) error {
	if err := i.RemoveHandler(r); err != nil {
		return err
	}
	return r.Wait(ctx)
}

func (i *Informer[T]) remove(r *Registration, how func(*listener[T])) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, l := range i.listeners {
		if l.Registration == r {
			how(l)
			return nil
		}
	}
	if r == nil || r.owner != i.done {
		return fmt.Errorf("informer %s: %w", i.opts.Name, ErrUnknownHandler)
	}
	return nil
}

// removeLocked drops a listener.
func (i *Informer[T]) removeLocked(l *listener[T], err error) {
	i.unlistLocked(l)
	l.drop(err)
	if !l.running {
		l.finish()
	}
}

// serveLocked starts a listener's goroutine.
func (i *Informer[T]) serveLocked(l *listener[T]) {
	l.running = true
	i.handlers.Go(func() {
		defer func() { // deferred, as a handler may end the goroutine
			i.mu.Lock()
			defer i.mu.Unlock()
			i.unlistLocked(l)
		}()
		l.run(i.runCtx)
	})
}

func (i *Informer[T]) unlistLocked(l *listener[T]) {
	at := slices.Index(i.listeners, l)
	if at < 0 {
		return
	}
	i.listeners = slices.Delete(i.listeners, at, at+1)
	i.names.give(l.name)
}

func (i *Informer[T]) newRegistrationLocked(h Handler[T], name string) *Registration {
	if name == "" {
		name = handlerName(h)
	}
	return newRegistration(i.names.take(name), i.done)
}

// weakLastError returns LastError for a registration, which must not keep the informer's store alive.
func (i *Informer[T]) weakLastError() func() error {
	informer := weak.Make(i)
	return func() error {
		if i := informer.Value(); i != nil {
			return i.LastError()
		}
		return nil
	}
}

// distributeLocked appends a batch to every backlog. It removes the listeners that lag too far behind.
func (i *Informer[T]) distributeLocked(notes []notification[T]) {
	if len(notes) == 0 {
		return
	}
	for _, l := range i.listeners {
		if !l.append(notes) {
			i.lagging = append(i.lagging, l)
		}
	}
	for _, l := range i.lagging {
		i.removeLocked(l, l.backlogError())
	}
}
