package sharedinformer

import (
	"context"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/indexer"
	"glasswatch/listwatch"
)

// SimpleInformer keeps a local copy of one resource for one handler: a controller and a store, without backlogs, without
// goroutines of handlers, and without registration.
//
//	ListerWatcher ─▶ reflector ─▶ queue ─▶ consumer ─▶ store
//	                                          └──────▶ handler, in the same goroutine
//
// A slow handler holds up the store, and behind it the watch. HasSynced means that the handler has been told of the first
// list to its end. Every resync and every relist tells it of each object. Its methods are safe for concurrent use.
type SimpleInformer[T listwatch.Object] struct {
	*Controller[T]
	pipeline[T]
	handler Handler[T]
}

// NewSimple returns an informer on lw that lists and watches nothing before Run. h may be nil: then there is only the store.
// Of opts, DetectMutations, OnMutation and Trace are not used.
//
// The handler is called from Run's goroutine, after the store was changed: with the in-order queue a batch at a time and
// with no lock held, with the per-key queue under the queue's lock. A panic goes to utilruntime.HandleCrash and costs that
// call.
func NewSimple[T listwatch.Object](lw listwatch.ListerWatcher[T], h Handler[T], opts Options[T]) *SimpleInformer[T] {
	opts.Trace = nil
	s := &SimpleInformer[T]{handler: h}
	lw = s.init(lw, opts)
	s.resyncPeriod = max(opts.ResyncPeriod, 0)
	s.Controller = s.controller(lw, s.process, opts.Reflector)
	s.afterPop = s.reportFailed
	return s
}

// Store returns the informer's store: for reading only, as the handler hears of nothing that others write to it.
func (s *SimpleInformer[T]) Store() *indexer.Store[listwatch.Key, T] { return s.store }

// Lister returns a lister on the informer's store. It stays usable when the informer has stopped.
func (s *SimpleInformer[T]) Lister() Lister[T] { return NewLister(s.store, s.opts.Resource) }

// WaitForSync is [Controller.WaitForSync].
func (s *SimpleInformer[T]) WaitForSync(ctx context.Context) error {
	return syncWait{"informer " + s.opts.Name, s.Synced(), s.Done(), nil, s.LastError}.wait(ctx)
}

// process takes a batch over and tells the handler.
func (s *SimpleInformer[T]) process(batch []delta[T], isInInitialList bool) error {
	s.applier.compare(batch)
	notes, version := s.applier.apply(batch, isInInitialList)
	s.measure(version)
	if s.handler != nil {
		for j := range notes {
			s.tell(&notes[j])
		}
	}
	s.applier.release()
	return nil
}

// tell calls the handler. A panic that utilruntime.HandleCrash lets pass costs this call, not the rest of the batch.
func (s *SimpleInformer[T]) tell(n *notification[T]) {
	defer utilruntime.HandleCrash()
	n.tell(s.handler)
}
