// The boxes of the house, in the order in which a change passes them. Each has the boundary that leads into it, the
// boundaries that belong to it (the table in ../PROTOCOL.md), and the functions that do its work. A Go test compares the
// lines with the code.
export const boxes = [
  { id: 'apiserver', from: 'written', at: ['sent'], code: [
    ['internal/apiserver/watch.go', 77, 'func (w *watcher) run('],
    ['internal/apiserver/watch.go', 186, 'func (w *watcher) send('],
  ] },
  { id: 'listwatch', from: 'sent', at: ['request', 'decoded'], code: [
    ['listwatch/list.go', 20, 'func (c *Client[T]) List('],
    ['listwatch/stream.go', 28, 'func (c *Client[T]) Watch('],
    ['listwatch/pull.go', 57, 'func (p *puller[T]) NextBatch('],
  ] },
  { id: 'reflector', from: 'decoded', at: ['state', 'handed'], code: [
    ['reflector/reflector.go', 66, 'func (r *Reflector[T]) Run('],
    ['reflector/watch.go', 33, 'func (r *Reflector[T]) watch('],
    ['reflector/errors.go', 139, 'func (r *Reflector[T]) fail('],
  ] },
  { id: 'deltafifo', from: 'handed', at: ['popped'], code: [
    ['deltafifo/inorder.go', 40, 'func (q *InOrder[K, T]) PutAll('],
    ['deltafifo/inorder_pop.go', 22, 'func (q *InOrder[K, T]) PopBatch('],
    ['deltafifo/deltafifo_pop.go', 11, 'func (f *DeltaFIFO[K, T]) Pop('],
  ] },
  { id: 'indexer', from: 'popped', at: ['stored'], code: [
    ['sharedinformer/process.go', 22, 'func (m *mirror[T]) apply('],
    ['indexer/write.go', 31, 'func (s *Store[K, T]) Apply('],
    ['indexer/index.go', 55, 'func (ix *index[T]) update('],
  ] },
  { id: 'handlers', from: 'stored', at: ['called', 'returned'], code: [
    ['sharedinformer/fanout.go', 111, 'func (i *Informer[T]) distributeLocked('],
    ['sharedinformer/listener.go', 103, 'func (l *listener[T]) run('],
    ['controller/handlers.go', 13, 'func EnqueueObject['],
  ] },
  { id: 'workqueue', from: 'queued', at: ['queued', 'taken', 'forgotten', 'putoff'], code: [
    ['workqueue/queue.go', 65, 'func (q *Queue[T]) addLocked('],
    ['workqueue/queue.go', 162, 'func (q *Queue[T]) Done('],
    ['workqueue/delaying.go', 26, 'func (q *DelayingQueue[T]) AddAfterWithPriority('],
  ] },
  { id: 'controller', from: 'taken', at: ['written', 'decided', 'reconciled'], code: [
    ['controller/worker.go', 42, 'func (c *Controller[K]) next('],
    ['controller/worker.go', 74, 'func (c *Controller[K]) settle('],
    ['controller/ingress/reconcile.go', 33, 'func (l *attempt) reconcile('],
  ] },
];

// boxAt[boundary] is the box that a boundary belongs to.
export const boxAt = Object.fromEntries(boxes.flatMap(({ id, at }) => at.map((boundary) => [boundary, id])));
