package sharedinformer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/klog/v2"
)

// AddHandler registers a handler, before or while the informer runs. A handler that comes late is first given the whole
// store as adds of its initial list. After that it misses nothing and sees nothing twice. AddHandler does not wait for
// that. It may be called from a handler. On a stopped informer it returns ErrStopped.
func (i *Informer[T]) AddHandler(h Handler[T], opts HandlerOptions) (*Registration, error) {
	if h == nil {
		return nil, fmt.Errorf("%s: the handler is nil", i.who)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped {
		return nil, fmt.Errorf("%s: handler not added: %w", i.who, ErrStopped)
	}
	l := newListener(newRegistration(i.uniqueNameLocked(opts.Name), i.done, i.LastError), h, opts)
	l.informer, l.observe = i.opts.Name, i.opts.Observe
	i.setResyncLocked(l, opts.ResyncPeriod)
	i.listeners = append(i.listeners, l)
	if i.started {
		var batch []notification[T]
		for _, obj := range i.store.All() {
			batch = append(batch, notification[T]{kind: added, initial: true, obj: obj})
		}
		l.append(batch)
		if i.HasSynced() {
			l.markUpstreamSynced()
		}
		i.serveLocked(l)
	}
	return l.Registration, nil
}

// uniqueNameLocked returns name, or the first of name#2, name#3, … that no listener has.
func (i *Informer[T]) uniqueNameLocked(name string) string {
	name = cmp.Or(name, "handler")
	taken := map[string]bool{}
	for _, l := range i.listeners {
		taken[l.name] = true
	}
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = name + "#" + strconv.Itoa(n)
	}
	return unique
}

// RemoveHandler ends a handler's service and drops what waits for it. It does not wait: Done closes after a call under
// way. The handler itself may call it, but must not wait for Done. A handler that is gone already is no error.
func (i *Informer[T]) RemoveHandler(r *Registration) error { return i.remove(r, false) }

// DrainHandler is RemoveHandler, except that what waits for the handler is delivered before Done closes. A handler that
// was never served, because the informer does not run, is gone at once.
func (i *Informer[T]) DrainHandler(r *Registration) error { return i.remove(r, true) }

// ShutDownHandler is RemoveHandler, and waits until the handler has returned from its last call, or ctx ends. The
// handler itself must not call it: it would wait for its own return.
func (i *Informer[T]) ShutDownHandler(ctx context.Context, r *Registration) error {
	if err := i.RemoveHandler(r); err != nil {
		return err
	}
	return r.Wait(ctx)
}

func (i *Informer[T]) remove(r *Registration, drain bool) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := slices.IndexFunc(i.listeners, func(l *listener[T]) bool { return l.Registration == r })
	if at < 0 {
		if r == nil || r.owner != i.done {
			return fmt.Errorf("%s: %w", i.who, ErrUnknownHandler)
		}
		return nil
	}
	l := i.listeners[at]
	if drain && l.running {
		l.drain() // it leaves the list when its goroutine ends
		return nil
	}
	i.listeners = slices.Delete(i.listeners, at, at+1)
	l.drop(nil)
	if !l.running {
		l.finish()
	}
	return nil
}

// serveLocked starts a listener's goroutine.
func (i *Informer[T]) serveLocked(l *listener[T]) {
	l.running = true
	i.handlers.Go(func() {
		defer func() { // deferred, as a handler may end the goroutine
			i.mu.Lock()
			defer i.mu.Unlock()
			i.listeners = slices.DeleteFunc(i.listeners, func(other *listener[T]) bool { return other == l })
		}()
		l.run(cmp.Or(l.opts.Context, i.runCtx))
	})
}

// distributeLocked appends a batch to every backlog. It removes the listeners that are past their bound.
func (i *Informer[T]) distributeLocked(notes []notification[T]) {
	if len(notes) == 0 {
		return
	}
	i.listeners = slices.DeleteFunc(i.listeners, func(l *listener[T]) bool {
		if l.append(notes) {
			return false
		}
		err := fmt.Errorf("handler %s: %w of %d", l.name, ErrBacklog, l.opts.MaxBacklog)
		l.drop(err)
		i.handlers.Go(func() { // to log is I/O, and locks are held here
			klog.FromContext(i.runCtx).Error(err, "Handler removed", "informer", i.opts.Name)
		})
		return true
	})
}
