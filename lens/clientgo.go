package lens

import (
	"fmt"
	"path"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// WatchInformer returns an informer whose handlers are watched: those that are added to what it returns. It is for
// client-go's informers and those of compat/cache. Everything else of the informer is as it was.
//
// controller-runtime makes its informers through cache.Options.NewInformer.
func (l *Lens) WatchInformer(name string, informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	l.AddInformer(name, informer)
	return &watchedInformer{informer, l, name}
}

type watchedInformer struct {
	cache.SharedIndexInformer
	lens *Lens
	name string
}

func (w *watchedInformer) watched(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	return &watchedHandler{handler: h, lens: w.lens, informer: w.name, name: handlerName(h)}
}

// added notes a handler that was added, and returns the rest as it is.
func (w *watchedInformer) added(
	h cache.ResourceEventHandler, registered cache.ResourceEventHandlerRegistration, err error,
) (cache.ResourceEventHandlerRegistration, error) {
	if err == nil {
		w.lens.addRegistration(w.name, handlerName(h), registered)
	}
	return registered, err
}

func (w *watchedInformer) AddEventHandler(
	h cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	registered, err := w.SharedIndexInformer.AddEventHandler(w.watched(h))
	return w.added(h, registered, err)
}

func (w *watchedInformer) AddEventHandlerWithResyncPeriod(
	h cache.ResourceEventHandler, resync time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	registered, err := w.SharedIndexInformer.AddEventHandlerWithResyncPeriod(w.watched(h), resync)
	return w.added(h, registered, err)
}

func (w *watchedInformer) AddEventHandlerWithOptions(
	h cache.ResourceEventHandler, opts cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	registered, err := w.SharedIndexInformer.AddEventHandlerWithOptions(w.watched(h), opts)
	return w.added(h, registered, err)
}

// watchedHandler tells the lens of the calls of a handler. It belongs to one registration, and so to one goroutine.
type watchedHandler struct {
	handler   cache.ResourceEventHandler
	lens      *Lens
	informer  string
	name      string
	goroutine atomic.Int64 // its number, from the first call on that is told
}

func (w *watchedHandler) OnAdd(obj any, isInInitialList bool) {
	defer w.call(actionOfAdd(isInInitialList), nil, obj)()
	w.handler.OnAdd(obj, isInInitialList)
}

func (w *watchedHandler) OnUpdate(old, obj any) {
	defer w.call("update", old, obj)()
	w.handler.OnUpdate(old, obj)
}

func (w *watchedHandler) OnDelete(obj any) {
	defer w.call("delete", nil, obj)()
	w.handler.OnDelete(obj)
}

// call tells that the handler is called. The function that it returns tells that the handler has returned.
func (w *watchedHandler) call(action string, old, obj any) (returned func()) {
	if !w.lens.on.Load() {
		return func() {}
	}
	c := Cause{Informer: w.informer, Handler: w.name, Action: action}
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		c.Object = tombstone.Key // its object may be missing
	} else if m, err := meta.Accessor(obj); err == nil {
		c.Object = nameOf(cache.MetaObjectToName(m))
		c.ResourceVersion = m.GetResourceVersion()
		c.uid = m.GetUID()
	}
	before, err := meta.Accessor(old)
	if err == nil && before.GetResourceVersion() == c.ResourceVersion {
		c.Action = "resync"
	}
	if c.Action != "resync" {
		w.lens.heard(w.informer)
	}
	self := w.goroutine.Load()
	if self == 0 {
		self = goroutine()
		w.goroutine.Store(self)
	}
	w.lens.calledIn(self, c, func(c *Cause) { c.compare(old, obj) })
	return func() { w.lens.returned(self, w.informer, w.name) }
}

// handlerName names a handler by its type, or by the first of its functions.
func handlerName(h cache.ResourceEventHandler) string {
	var funcs []any
	switch h := h.(type) {
	case cache.ResourceEventHandlerFuncs:
		funcs = []any{h.AddFunc, h.UpdateFunc, h.DeleteFunc}
	case cache.ResourceEventHandlerDetailedFuncs:
		funcs = []any{h.AddFunc, h.UpdateFunc, h.DeleteFunc}
	}
	for _, f := range funcs {
		if v := reflect.ValueOf(f); !v.IsNil() {
			return path.Base(runtime.FuncForPC(v.Pointer()).Name())
		}
	}
	return fmt.Sprintf("%T", h)
}

// WatchQueue returns a queue that is watched. It is for client-go's queues, those of compat/workqueue and ours. A worker
// must call Get and Done in the goroutine in which it reconciles, as all of them do.
//
// controller-runtime makes its queue through controller.Options.NewQueue. Its priority queue is another interface.
func WatchQueue[T comparable](
	l *Lens, controller string, queue workqueue.TypedRateLimitingInterface[T],
) workqueue.TypedRateLimitingInterface[T] {
	l.AddQueue(controller, queue)
	knowKeysOf[T](l, controller)
	return &watchedQueue[T]{queue, l, controller}
}

type watchedQueue[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]
	lens       *Lens
	controller string
}

func (q *watchedQueue[T]) Add(item T) {
	q.enqueued(item, "the program", 0)
	q.TypedRateLimitingInterface.Add(item)
}

func (q *watchedQueue[T]) AddAfter(item T, delay time.Duration) {
	q.enqueued(item, "later", delay)
	q.TypedRateLimitingInterface.AddAfter(item, delay)
}

func (q *watchedQueue[T]) AddRateLimited(item T) {
	if q.lens.on.Load() {
		q.lens.ended(q.controller, nameOf(item), failed+", or asked for another try")
		q.enqueued(item, "retry", 0)
	}
	q.TypedRateLimitingInterface.AddRateLimited(item)
}

func (q *watchedQueue[T]) enqueued(item T, how string, delay time.Duration) {
	if q.lens.on.Load() {
		q.lens.enqueued(q.controller, item, how, delay)
	}
}

func (q *watchedQueue[T]) Get() (T, bool) {
	item, shutdown := q.TypedRateLimitingInterface.Get()
	if !shutdown && q.lens.on.Load() {
		q.lens.taken(q.controller, item)
	}
	return item, shutdown
}

func (q *watchedQueue[T]) Done(item T) {
	if q.lens.on.Load() {
		q.lens.done(q.controller, nameOf(item))
	}
	q.TypedRateLimitingInterface.Done(item)
}
