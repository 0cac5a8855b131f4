package sharedinformer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// fanout is the handlers of an informer. Each has a listener: a backlog, and a goroutine that calls the handler.
//
//	notes ──append──┬──▶ backlog ──▶ handler 1
//	                └──▶ backlog ──▶ handler 2
type fanout[T object] struct {
	informer string              // its name
	observe  func([]observation) // the user's; may be nil

	// mu is the informer's mutex. It spans the store's commit and the append to the backlogs, and likewise a handler's
	// registration and its snapshot. Handlers are called without it. It protects everything below.
	mu        sync.Mutex
	listeners []*listener[T] // in the order of their registration
	started   bool
	stopped   bool
	// batchStored is closed when the next batch is in the store; nil if nobody waits for that.
	batchStored chan struct{}
	// resyncCheck is how often the informer checks which handlers are due a resync; 0 is never. It is fixed once started.
	// Invariant: each listener's resync is 0, or at least this.
	resyncCheck time.Duration
	runCtx      context.Context // has the logger of Run's context, and is never cancelled
	goroutines  sync.WaitGroup  // the listeners'
}

// nextBatchStored returns a channel that is closed when the next batch is in the store.
func (f *fanout[T]) nextBatchStored() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.batchStored == nil {
		f.batchStored = make(chan struct{})
	}
	return f.batchStored
}

// AddHandler registers a handler, before or while the informer runs. A handler that comes late is first given the whole
// store as adds of its initial list. After that it misses nothing and sees nothing twice. AddHandler does not wait for
// that. It may be called from a handler. On a stopped informer it returns ErrStopped.
func (i *Informer[T]) AddHandler(h Handler[T], opts HandlerOptions) (*Registration, error) {
	if h == nil {
		return nil, fmt.Errorf("%s: the handler is nil", i.life.who)
	}
	f := &i.fanout
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil, fmt.Errorf("%s: handler not added: %w", i.life.who, ErrStopped)
	}
	name := f.uniqueNameLocked(opts.Name)
	l := newListener(newRegistration(name, i.life.done, i.LastError), h, opts, f.observerOf(name))
	f.setResyncLocked(l, i.opts.ResyncPeriod)
	f.listeners = append(f.listeners, l)
	if f.started { // it comes late
		var initial []notification[T]
		for _, obj := range i.store.All() {
			initial = append(initial, notification[T]{kind: added, initial: true, obj: obj})
		}
		l.append(initial)
		if i.HasSynced() {
			l.reg.markUpstreamSynced()
		}
		f.serveLocked(l)
	}
	return l.reg, nil
}

// RemoveHandler ends a handler's service and drops what waits for it. It does not wait: Done closes after a call under
// way. The handler itself may call it, but must not wait for Done. A handler that is gone already is no error.
func (i *Informer[T]) RemoveHandler(r *Registration) error {
	i.fanout.mu.Lock()
	defer i.fanout.mu.Unlock()
	l, err := i.listenerLocked(r)
	if l != nil {
		i.fanout.removeLocked(l, nil)
	}
	return err
}

// DrainHandler is RemoveHandler, except that what waits for the handler is delivered before Done closes. A handler that
// was never served, because the informer does not run, is gone at once.
func (i *Informer[T]) DrainHandler(r *Registration) error {
	i.fanout.mu.Lock()
	defer i.fanout.mu.Unlock()
	l, err := i.listenerLocked(r)
	switch {
	case l == nil:
	case l.served:
		l.drain() // the end of its goroutine takes it off the list
	default:
		i.fanout.removeLocked(l, nil)
	}
	return err
}

// listenerLocked returns the listener of r, nil if it is gone. Another informer's registration is an error.
func (i *Informer[T]) listenerLocked(r *Registration) (*listener[T], error) {
	if r == nil || r.informerDone != i.life.done {
		return nil, fmt.Errorf("%s: %w", i.life.who, ErrUnknownHandler)
	}
	at := slices.IndexFunc(i.fanout.listeners, func(l *listener[T]) bool { return l.reg == r })
	if at < 0 {
		return nil, nil
	}
	return i.fanout.listeners[at], nil
}

// uniqueNameLocked returns name, or the first of name#2, name#3, … that no listener has.
func (f *fanout[T]) uniqueNameLocked(name string) string {
	name = cmp.Or(name, "handler")
	taken := map[string]bool{}
	for _, l := range f.listeners {
		taken[l.reg.name] = true
	}
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = name + "#" + strconv.Itoa(n)
	}
	return unique
}

// start sets the listeners going, unless that was done before.
func (f *fanout[T]) start(ctx context.Context) (alreadyStarted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.started {
		return true
	}
	f.started = true
	f.runCtx = context.WithoutCancel(ctx)
	for _, l := range f.listeners {
		f.serveLocked(l)
	}
	return false
}

// serveLocked starts a listener's goroutine. Its end takes the listener off the list, also if the handler calls Goexit.
func (f *fanout[T]) serveLocked(l *listener[T]) {
	l.served = true
	f.goroutines.Go(func() {
		defer f.forget(l)
		l.run(cmp.Or(l.opts.Context, f.runCtx))
	})
}

// forget takes a listener whose goroutine has ended off the list.
func (f *fanout[T]) forget(l *listener[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners = slices.DeleteFunc(f.listeners, func(other *listener[T]) bool { return other == l })
}

// removeLocked drops a listener for a reason, nil if somebody asked for it, and takes it off the list.
func (f *fanout[T]) removeLocked(l *listener[T], reason error) {
	f.listeners = slices.DeleteFunc(f.listeners, func(other *listener[T]) bool { return other == l })
	l.drop(reason)
	if !l.served { // it has no goroutine that would do so
		l.finish()
	}
}

// distributeLocked tells those that wait for a resourceVersion to look at the store again, and appends a batch's
// notifications to every backlog. It removes the listeners that are past their bound.
func (f *fanout[T]) distributeLocked(notes []notification[T]) {
	if f.batchStored != nil {
		close(f.batchStored)
		f.batchStored = nil
	}
	if len(notes) == 0 {
		return
	}
	var laggards []*listener[T]
	for _, l := range f.listeners {
		keepsUp := l.append(notes)
		if !keepsUp {
			laggards = append(laggards, l)
		}
	}
	for _, l := range laggards {
		reason := fmt.Errorf("handler %s: %w of %d", l.reg.name, ErrBacklog, l.opts.MaxBacklog)
		f.removeLocked(l, reason)
		f.goroutines.Go(func() { // logging is I/O, and locks are held here
			klog.FromContext(f.runCtx).Error(reason, "Handler removed", "informer", f.informer)
		})
	}
}

// dropAll ends the listeners, and takes no more. It does not wait for their goroutines. A second time it does nothing.
func (f *fanout[T]) dropAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	for _, l := range f.listeners {
		l.drop(fmt.Errorf("handler %s: %w", l.reg.name, ErrStopped))
	}
	f.listeners = nil
}
