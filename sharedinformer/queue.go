package sharedinformer

import (
	"glasswatch/deltafifo"
	"glasswatch/indexer"
	"glasswatch/listwatch"
)

// QueueKind picks the queue between the source and the store.
type QueueKind uint8

const (
	// InOrder keeps every event in its order of arrival, across objects.
	InOrder QueueKind = iota
	// PerKey groups what waits by object: a DeltaFIFO. The order of events holds per object only.
	PerKey
)

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
