package sharedinformer

import (
	"slices"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
)

// batchSink is an in-order queue that takes the events of a reflector as they come from a stream that has many.
type batchSink[T object] struct {
	*deltafifo.InOrder[key, T]
	deltas []delta[T] // scratch of the reflector's goroutine
}

// inBatches returns q, as one that takes many events at once if it can. Reflectors find that out: see reflector.BatchSink.
func inBatches[T object](q Queue[T]) Queue[T] {
	if inOrder, ok := q.(*deltafifo.InOrder[key, T]); ok {
		return &batchSink[T]{InOrder: inOrder}
	}
	return q
}

var deltaTypes = [...]deltafifo.DeltaType{
	listwatch.Added:    deltafifo.Added,
	listwatch.Modified: deltafifo.Updated,
	listwatch.Deleted:  deltafifo.Deleted,
}

// PutBatch implements reflector.BatchSink.
func (s *batchSink[T]) PutBatch(events []listwatch.Event[T]) []error {
	defer func() { s.deltas = reuse(s.deltas) }()
	s.deltas = slices.Grow(s.deltas, len(events))[:len(events)]
	for i := range events {
		d := &s.deltas[i]
		d.Type, d.Obj = deltaTypes[events[i].Type], events[i].Object
	}
	return s.PutAll(s.deltas)
}
