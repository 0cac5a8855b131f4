package sharedinformer

import (
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/listwatch"
)

// SimpleInformer keeps a local copy of one resource for one handler: a controller and a store, without backlogs,
// without goroutines of handlers, and without registration.
//
//	ListerWatcher ─▶ reflector ─▶ queue ─▶ consumer ─▶ store
//	                                          └──────▶ handler, in the same goroutine
//
// A slow handler holds up the store, and behind it the watch. HasSynced means that the handler has been told of the
// first list to its end. Every resync and every relist tells it of each object. Its methods are safe for concurrent
// use.
type SimpleInformer[T listwatch.Object] struct {
	mirror[T]
	handler Handler[T]
}

// NewSimple returns an informer on lw that lists and watches nothing before Run. h may be nil: then there is only the
// store. Of opts, Observe, Feed and SyncGate are not used.
//
// The handler is called from Run's goroutine, after the store was changed. With the in-order queue that is a batch at a
// time and with no lock held. With the per-key queue it is under the queue's lock. A panic goes to
// utilruntime.HandleCrash and costs that call.
func NewSimple[T listwatch.Object](lw listwatch.ListerWatcher[T], h Handler[T], opts Options[T]) *SimpleInformer[T] {
	if h == nil {
		h = HandlerFuncs[T]{}
	}
	s := &SimpleInformer[T]{handler: h}
	s.init(lw, opts, false, s.process) // in InOrder's batches no key repeats: the store shows what is told
	return s
}

// process takes a batch over and tells the handler.
func (s *SimpleInformer[T]) process(batch []delta[T], isInInitialList bool) error {
	notes, version := s.apply(batch, isInInitialList)
	for j := range notes {
		s.tell(&notes[j])
	}
	if tell := s.opts.Metrics.StoreResourceVersion; tell != nil && version != "" {
		tell(version)
	}
	return nil
}

// tell calls the handler. A panic that utilruntime.HandleCrash lets pass costs this call, not the rest of the batch.
func (s *SimpleInformer[T]) tell(n *notification[T]) {
	defer utilruntime.HandleCrash()
	n.tell(s.handler)
}
