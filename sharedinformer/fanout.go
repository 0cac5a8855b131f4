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
//	notes ──add──┬──▶ backlog ──▶ handler 1
//	             └──▶ backlog ──▶ handler 2
type fanout[T object] struct {
	informer string              // its name
	observe  func([]observation) // the user's; may be nil

	// storeAndListeners is the informer's mutex. It is held while the store and the backlogs change together:
	//
	//   - by the consumer, from a batch's commit to the store until it is in every backlog
	//   - by AddHandler, while the listener gets on the list and takes the store's content
	//   - for a moment, by whatever reads or changes the fields below
	//
	// A listener's goroutine does not hold it while it calls the handler. So a handler may call the informer, and a slow
	// one holds up nobody.
	storeAndListeners sync.Mutex
	listeners         []*listener[T] // in the order of their registration
	started           bool
	stopped           bool
	// batchStored is closed when the next batch is in the store; nil if nobody waits for that.
	batchStored chan struct{}
	// checkPeriod is how often the informer checks which handlers are due a resync; 0 is never. It is fixed once started.
	// Invariant: each listener's period of resyncs is 0, or at least this.
	checkPeriod time.Duration
	runCtx      context.Context // has the logger of Run's context, and is never cancelled
	goroutines  sync.WaitGroup  // the listeners'
}

// AddHandler registers a handler, before or while the informer runs. A handler that comes late is first given the whole
// store as adds of its initial list. After that it misses no change and sees none twice. AddHandler does not wait for
// that. It may be called from a handler. On a stopped informer it returns ErrStopped.
func (i *Informer[T]) AddHandler(h Handler[T], opts HandlerOptions) (*Registration, error) {
	if h == nil {
		return nil, fmt.Errorf("%s: the handler is nil", i.life.who)
	}
	f := &i.fanout
	f.storeAndListeners.Lock()
	defer f.storeAndListeners.Unlock()
	if f.stopped {
		return nil, fmt.Errorf("%s: handler not added: %w", i.life.who, ErrStopped)
	}
	name := f.uniqueNameLocked(opts.Name)
	backlog := newBacklog[T](opts)
	l := &listener[T]{
		reg:      newRegistration(name, &i.life, backlog),
		handler:  h,
		opts:     opts,
		backlog:  backlog,
		observe:  f.observerOf(name),
		schedule: f.newScheduleLocked(opts.ResyncPeriod, i.opts.ResyncPeriod),
	}
	f.listeners = append(f.listeners, l)
	if f.started { // it comes late
		var initial []notification[T]
		for _, obj := range i.store.All() {
			initial = append(initial, notification[T]{kind: added, initial: true, obj: obj})
		}
		l.backlog.add(initial, l.schedule.wants)
		if i.HasSynced() {
			l.backlog.endInitialList()
		}
		f.serveLocked(l)
	}
	return l.reg, nil
}

// RemoveHandler ends a handler's service and drops what waits for it. It does not wait: Done closes after a call under
// way. The handler itself may call it, but must not wait for Done. A handler that is gone already is no error.
func (i *Informer[T]) RemoveHandler(r *Registration) error {
	i.fanout.storeAndListeners.Lock()
	defer i.fanout.storeAndListeners.Unlock()
	l, err := i.listenerLocked(r)
	if l != nil {
		i.fanout.removeLocked(l, nil)
	}
	return err
}

// DrainHandler is RemoveHandler, except that what waits for the handler is delivered before Done closes. A handler that
// was never served, because the informer does not run, is gone at once.
func (i *Informer[T]) DrainHandler(r *Registration) error {
	i.fanout.storeAndListeners.Lock()
	defer i.fanout.storeAndListeners.Unlock()
	l, err := i.listenerLocked(r)
	switch {
	case l == nil:
	case l.served:
		l.backlog.drain() // the end of its goroutine takes it off the list
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
	f.storeAndListeners.Lock()
	defer f.storeAndListeners.Unlock()
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
	f.storeAndListeners.Lock()
	defer f.storeAndListeners.Unlock()
	f.unlistLocked(l)
}

func (f *fanout[T]) unlistLocked(l *listener[T]) {
	f.listeners = slices.DeleteFunc(f.listeners, func(other *listener[T]) bool { return other == l })
}

// removeLocked drops a listener's backlog for a reason, nil if somebody asked for it, and takes it off the list.
func (f *fanout[T]) removeLocked(l *listener[T], reason error) {
	f.unlistLocked(l)
	l.backlog.drop(reason)
	if !l.served { // it has no goroutine that would do so
		l.finish(nil)
	}
}

// distributeLocked adds a batch's notifications to every backlog. It removes the listeners that are past their bound.
func (f *fanout[T]) distributeLocked(notes []notification[T]) {
	if len(notes) == 0 {
		return
	}
	var laggards []*listener[T]
	for _, l := range f.listeners {
		keepsUp := l.backlog.add(notes, l.schedule.wants)
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

// dropAll ends the listeners, and takes no more. It does not wait for their goroutines.
func (f *fanout[T]) dropAll() {
	f.storeAndListeners.Lock()
	defer f.storeAndListeners.Unlock()
	f.stopped = true
	for _, l := range f.listeners {
		l.backlog.drop(fmt.Errorf("handler %s: %w", l.reg.name, ErrStopped))
	}
	f.listeners = nil
}
