package sharedinformer

import (
	"fmt"
	"slices"

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
		l.run(i.runCtx)
		i.mu.Lock()
		defer i.mu.Unlock()
		i.unlistLocked(l)
	})
}

func (i *Informer[T]) unlistLocked(l *listener[T]) {
	i.listeners = slices.DeleteFunc(i.listeners, func(other *listener[T]) bool { return other == l })
}

func (i *Informer[T]) newRegistrationLocked(h Handler[T], name string) *Registration {
	if name == "" {
		name = handlerName(h)
	}
	unique := name
	for n := 2; slices.ContainsFunc(i.listeners, func(l *listener[T]) bool { return l.name == unique }); n++ {
		unique = fmt.Sprintf("%s#%d", name, n)
	}
	return newRegistration(unique, i.done)
}
