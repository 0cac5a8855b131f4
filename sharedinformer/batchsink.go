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

// inBatches returns a queue that takes many events at once, if q can, so that whatever fills it finds PutBatch.
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
	s.deltas = slices.Grow(s.deltas[:0], len(events))[:len(events)]
	for i := range events {
		s.deltas[i].Type, s.deltas[i].Obj = deltaTypes[events[i].Type], events[i].Object
	}
	errs := s.PutAll(s.deltas)
	clear(s.deltas) // it keeps no object alive
	return errs
}
