package sharedinformer

import (
	"context"
	"errors"

	"glasswatch/deltafifo"
	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// Feeder is a source: it fills the queue of an informer. A *reflector.Reflector is one.
type Feeder interface {
	// Run fills the queue until ctx ends. It returns when every goroutine that it started is gone.
	Run(ctx context.Context)
	// LastSyncResourceVersion returns the resourceVersion up to which the queue was given everything.
	LastSyncResourceVersion() string
	// LastError returns the last error of a list or watch, nil once it works again. It must not call the informer.
	LastError() error
	Stats() reflector.Stats
}

// newSource makes what fills the queue: a reflector, unless Options.Feed makes another.
func (i *Informer[T]) newSource(lw listwatch.ListerWatcher[T]) Feeder {
	opts := i.opts.Reflector
	opts.Name = i.opts.Name
	opts.OnError = i.watchFailed
	if i.opts.Feed != nil {
		return i.opts.Feed(lw, i.queue, opts)
	}
	return reflector.New(lw, reflector.Sink[T](i.queue), opts)
}

// watchFailed sorts the source's errors: those of single objects, and those of lists and watches. It calls the user's
// functions.
func (i *Informer[T]) watchFailed(ctx context.Context, err error) {
	var unreadable *listwatch.ObjectError
	var refused *reflector.SinkError
	switch {
	case errors.As(err, &unreadable):
		i.objectErrors.report(unreadable.Key, err)
	case errors.As(err, &refused):
		i.objectErrors.report(refused.Key, err)
	case i.opts.WatchErrorHandler != nil:
		i.opts.WatchErrorHandler(ctx, err)
	default:
		reflector.LogError(ctx, i.opts.Name, err)
	}
}

// QueueKind picks the queue between the source and the store.
type QueueKind uint8

const (
	// InOrder keeps every event in its order of arrival, across objects.
	InOrder QueueKind = iota
	// PerKey groups what waits by object: a DeltaFIFO. The order of events holds per object only.
	PerKey
)

// Queue stands between an informer's source and its store. Both queues of package deltafifo are one, with
// [listwatch.Key] for a key. A [Feeder] calls the methods of [reflector.Sink]; the others are the informer's.
type Queue[T listwatch.Object] interface {
	reflector.Sink[T]
	// PopBatch blocks until there is something to process or the queue is closed and empty: then it returns
	// [deltafifo.ErrClosed]. Otherwise it returns what process does.
	PopBatch(process func(deltas []deltafifo.Delta[listwatch.Key, T], isInInitialList bool) error) error
	// Resync queues a Sync of every known object, or one SyncAll. It returns nil.
	Resync() error
	// Close releases a waiting PopBatch.
	Close()
	Synced() <-chan struct{}
	Len() int
}

// newQueue makes the queue of an informer. transformFailed is told of objects that Options.Transform fails on.
func newQueue[T object](
	opts Options[T], store *indexer.Store[key, T], transformFailed func(key, error),
) Queue[T] {
	queueOpts := deltafifo.Options[key, T]{
		KeyFunc:       keyOf[T],
		Transform:     opts.Transform,
		OnError:       transformFailed,
		KeysMayRepeat: true, // the store applies a batch in order, and each change makes a notification of its own
		Metrics:       deltafifo.Metrics{Queued: opts.Metrics.Queued, Processed: opts.Metrics.Processed},
	}
	if opts.Queue == PerKey {
		queueOpts.Known = store
		return deltafifo.NewDeltaFIFO(queueOpts)
	}
	return &batchSink[T]{InOrder: deltafifo.NewInOrder(queueOpts)}
}

// batchSink is an in-order queue that also takes many events at once, from a reflector whose stream has many.
type batchSink[T object] struct {
	*deltafifo.InOrder[key, T]
	deltas []delta[T] // scratch of the reflector's goroutine
}

// PutBatch implements reflector.BatchSink.
func (s *batchSink[T]) PutBatch(events []listwatch.Event[T]) []error {
	deltas := s.deltas[:0]
	for _, e := range events {
		deltas = append(deltas, delta[T]{Type: deltaType(e.Type), Obj: e.Object})
	}
	errs := s.PutAll(deltas)
	clear(deltas) // it keeps no object alive
	s.deltas = deltas
	return errs
}

// deltaType is the type of the delta that an event of an object becomes.
func deltaType(t listwatch.EventType) deltafifo.DeltaType {
	switch t {
	case listwatch.Added:
		return deltafifo.Added
	case listwatch.Deleted:
		return deltafifo.Deleted
	default: // Modified: bookmarks are no events of an object
		return deltafifo.Updated
	}
}
