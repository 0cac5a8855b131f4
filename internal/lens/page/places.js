// The boxes of the house, in the order in which a change passes them. Each has the boundary that leads into it, the
// boundaries that belong to it (the table in ../PROTOCOL.md), and the functions that do its work. A Go test finds
// each function in its file.
export const boxes = [
  { id: 'apiserver', from: 'written', at: ['sent'], code: [
    ['internal/apiserver/watch.go', 'func (w *watcher) run('],
    ['internal/apiserver/watch.go', 'func (w *watcher) send('],
  ] },
  { id: 'listwatch', from: 'sent', at: ['request', 'decoded'], code: [
    ['listwatch/list.go', 'func (c *Client[T]) List('],
    ['listwatch/stream.go', 'func (c *Client[T]) Watch('],
    ['listwatch/pull.go', 'func (p *puller[T]) NextBatch('],
  ] },
  { id: 'reflector', from: 'decoded', at: ['state', 'handed'], code: [
    ['reflector/reflector.go', 'func (r *Reflector[T]) Run('],
    ['reflector/watch.go', 'func (w *liveWatch[T]) step('],
    ['reflector/errors.go', 'func (r *Reflector[T]) follow('],
  ] },
  { id: 'deltafifo', from: 'handed', at: ['popped'], code: [
    ['deltafifo/inorder.go', 'func (q *InOrder[K, T]) PutAll('],
    ['deltafifo/inorder_pop.go', 'func (q *InOrder[K, T]) PopBatch('],
    ['deltafifo/deltafifo_pop.go', 'func (f *DeltaFIFO[K, T]) Pop('],
  ] },
  { id: 'indexer', from: 'popped', at: ['stored'], code: [
    ['sharedinformer/apply.go', 'func (w *storeWriter[T]) apply('],
    ['indexer/write.go', 'func (s *Store[K, T]) Apply('],
    ['indexer/index.go', 'func (ix *index[T]) update('],
  ] },
  { id: 'handlers', from: 'stored', at: ['called', 'returned'], code: [
    ['sharedinformer/fanout.go', 'func (f *fanout[T]) distributeLocked('],
    ['sharedinformer/listener.go', 'func (l *listener[T]) run('],
    ['controller/handlers.go', 'func EnqueueObject['],
  ] },
  { id: 'workqueue', from: 'queued', at: ['queued', 'taken', 'forgotten', 'putoff'], code: [
    ['workqueue/queue.go', 'func (q *Queue[T]) addLocked('],
    ['workqueue/queue.go', 'func (q *Queue[T]) Done('],
    ['workqueue/queue.go', 'func (q *DelayingQueue[T]) AddAfterWithPriority('],
  ] },
  { id: 'controller', from: 'taken', at: ['written', 'decided', 'reconciled'], code: [
    ['controller/worker.go', 'func (c *Controller[K]) next('],
    ['controller/worker.go', 'func (c *Controller[K]) settle('],
    ['controller/ingress/reconcile.go', 'func (l *attempt) reconcile('],
  ] },
];

// wounds[fault] is where a fault acts: at the arrow that leads on from a boundary, or in a box.
export const wounds = {
  cut: { edge: 'sent' }, drop: { edge: 'sent' }, token: { edge: 'sent' }, delay: { edge: 'sent' }, stop: { edge: 'sent', box: 'apiserver' },
  fail: { edge: 'written' }, slow: { box: 'handlers' }, panic: { box: 'handlers' },
};

// boxAt[boundary] is the box that a boundary belongs to.
export const boxAt = Object.fromEntries(boxes.flatMap(({ id, at }) => at.map((boundary) => [boundary, id])));
