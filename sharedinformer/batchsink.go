package sharedinformer

import (
	"glasswatch/deltafifo"
	"glasswatch/listwatch"
)

// batchSink is an in-order queue that takes the events of a reflector as they come from a stream that has many.
type batchSink[T object] struct {
	*deltafifo.InOrder[key, T]
	deltas []delta[T] // scratch of the reflector's goroutine
}

// PutBatch implements reflector.BatchSink.
func (s *batchSink[T]) PutBatch(events []listwatch.Event[T]) []error {
	deltas := s.deltas[:0]
	for _, e := range events { // the types of objects' events have the same numbers in both packages
		deltas = append(deltas, delta[T]{Type: deltafifo.DeltaType(e.Type), Obj: e.Object})
	}
	errs := s.PutAll(deltas)
	clear(deltas) // it keeps no object alive
	s.deltas = deltas
	return errs
}
