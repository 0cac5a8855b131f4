// The boxes of the house, in the order in which a change passes them. Each has the boundary that leads into it, the
// boundaries that belong to it (the table in ../PROTOCOL.md), the functions that do its work, and those of client-go, with
// their lines in version clientGo. client-go has no server and no reconcile loop. Go tests find each function in its file.
export const clientGo = 'v0.37.2';
export const boxes = [
  { id: 'apiserver', from: 'written', at: ['sent'], code: [
    ['internal/apiserver/watch.go', 'func (w *watcher) run('],
    ['internal/apiserver/watch.go', 'func (w *watcher) send('],
  ], theirs: [] },
  { id: 'listwatch', from: 'sent', at: ['request', 'decoded'], code: [
    ['listwatch/list.go', 'func (c *Client[T]) List('],
    ['listwatch/stream.go', 'func (c *Client[T]) Watch('],
    ['listwatch/pull.go', 'func (p *puller[T]) NextBatch('],
  ], theirs: [
    ['rest/request.go', 'Request.transformResponse', 1175],
    ['rest/request.go', 'Request.Watch', 760],
    ['rest/watch/decoder.go', 'Decoder.Decode', 47],
  ] },
  { id: 'reflector', from: 'decoded', at: ['state', 'handed'], code: [
    ['reflector/reflector.go', 'func (r *Reflector[T]) Run('],
    ['reflector/watch.go', 'func (w *liveWatch[T]) step('],
    ['reflector/errors.go', 'func (r *Reflector[T]) follow('],
  ], theirs: [
    ['tools/cache/reflector.go', 'Reflector.RunWithContext', 423],
    ['tools/cache/reflector.go', 'Reflector.ListAndWatchWithContext', 470],
    ['tools/cache/reflector.go', 'handleAnyWatch', 972],
  ] },
  { id: 'deltafifo', from: 'handed', at: ['popped'], code: [
    ['deltafifo/inorder.go', 'func (q *InOrder[K, T]) PutAll('],
    ['deltafifo/inorder.go', 'func (q *InOrder[K, T]) PopBatch('],
    ['deltafifo/deltafifo.go', 'func (f *DeltaFIFO[K, T]) Pop('],
  ], theirs: [
    ['tools/cache/the_real_fifo.go', 'RealFIFO.Add', 337],
    ['tools/cache/the_real_fifo.go', 'RealFIFO.PopBatch', 486],
    ['tools/cache/delta_fifo.go', 'DeltaFIFO.Pop', 562],
  ] },
  { id: 'indexer', from: 'popped', at: ['stored'], code: [
    ['sharedinformer/apply.go', 'func (w *storeWriter[T]) apply('],
    ['indexer/write.go', 'func (s *Store[K, T]) Apply('],
    ['indexer/index.go', 'func (ix *index[T]) update('],
  ], theirs: [
    ['tools/cache/controller.go', 'processDeltas', 823],
    ['tools/cache/thread_safe_store.go', 'threadSafeMap.Add', 301],
    ['tools/cache/thread_safe_store.go', 'storeIndex.updateIndices', 226],
  ] },
  { id: 'handlers', from: 'stored', at: ['called', 'returned'], code: [
    ['sharedinformer/fanout.go', 'func (f *fanout[T]) distributeLocked('],
    ['sharedinformer/listener.go', 'func (l *listener[T]) run('],
    ['controller/handlers.go', 'func EnqueueObject['],
  ], theirs: [
    ['tools/cache/shared_informer.go', 'sharedProcessor.distribute', 1236],
    ['tools/cache/shared_informer.go', 'processorListener.run', 1478],
    ['tools/cache/controller.go', 'ResourceEventHandlerFuncs.OnAdd', 421],
  ] },
  { id: 'workqueue', from: 'queued', at: ['queued', 'taken', 'forgotten', 'putoff'], code: [
    ['workqueue/queue.go', 'func (q *Queue[T]) addLocked('],
    ['workqueue/queue.go', 'func (q *Queue[T]) Done('],
    ['workqueue/queue.go', 'func (q *DelayingQueue[T]) AddAfterWithPriority('],
  ], theirs: [
    ['util/workqueue/queue.go', 'Typed.Add', 227],
    ['util/workqueue/queue.go', 'Typed.Done', 289],
    ['util/workqueue/delaying_queue.go', 'delayingType.AddAfter', 249],
  ] },
  { id: 'controller', from: 'taken', at: ['written', 'decided', 'reconciled'], code: [
    ['controller/worker.go', 'func (c *Controller[K]) next('],
    ['controller/worker.go', 'func (c *Controller[K]) settle('],
    ['controller/ingress/reconcile.go', 'func (l *attempt) reconcile('],
  ], theirs: [] },
];

// wounds[fault] is where a fault acts: at the arrow that leads on from a boundary, or in a box.
export const wounds = {
  cut: { edge: 'sent' }, drop: { edge: 'sent' }, token: { edge: 'sent' }, delay: { edge: 'sent' }, stop: { edge: 'sent', box: 'apiserver' },
  fail: { edge: 'written' }, slow: { box: 'handlers' }, panic: { box: 'handlers' },
};

// boxAt[boundary] is the box that a boundary belongs to.
export const boxAt = Object.fromEntries(boxes.flatMap(({ id, at }) => at.map((boundary) => [boundary, id])));

// signs are those of the marks on the time line, and in the lanes.
export const signs = { fault: '✂', relist: '≡', tombstone: '✝', conflict: '≠', panic: '!', failed: '×', decisive: '★' };
