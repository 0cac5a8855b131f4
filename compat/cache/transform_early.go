package cache

import (
	"glasswatch/listwatch"
)

// earlyTransform transforms the initial events of a streaming list as they come. Else all of them would be in memory as
// they came, and what the transform drops would be part of the heap that the garbage collector plans with. The queue
// transforms all other objects, when it gets them. Its methods are for the reflector's goroutine.
type earlyTransform struct {
	transform func(object) (object, error)
	wanted    func() bool // whether there is a transform
	// done has the result for each object that the queue has not got yet: nil, or the error.
	done map[object]error
}

// begin forgets the objects of a list that did not reach the queue.
func (e *earlyTransform) begin() { e.done = nil }

// event transforms the object of an initial event. A deletion among them, which no server sends, is left to the queue.
func (e *earlyTransform) event(ev *listwatch.Event[object]) {
	if ev.Type != listwatch.Added && ev.Type != listwatch.Modified || !e.wanted() {
		return
	}
	defer func() { _ = recover() }() // the queue calls the transform once more, and reports the panic
	out, err := e.transform(ev.Object)
	if err == nil {
		ev.Object = out
	}
	if e.done == nil {
		e.done = map[object]error{}
	}
	e.done[ev.Object] = err
}

// object is the transform of the queue.
func (e *earlyTransform) object(obj object) (object, error) {
	err, done := e.done[obj]
	if !done {
		return e.transform(obj)
	}
	if delete(e.done, obj); len(e.done) == 0 {
		e.done = nil // a map keeps its memory
	}
	if err != nil {
		return nil, err
	}
	return obj, nil
}

// earlyStream is a streaming list, and the watch that follows on the same connection.
type earlyStream struct {
	listwatch.Stream[object]
	early *earlyTransform
	over  bool // the initial events
}

// UnorderedVersions is what the stream itself says.
func (s *earlyStream) UnorderedVersions() bool {
	unordered, ok := s.Stream.(interface{ UnorderedVersions() bool })
	return ok && unordered.UnorderedVersions()
}

// Next implements listwatch.Stream.
func (s *earlyStream) Next() (listwatch.Event[object], error) {
	var one [1]listwatch.Event[object]
	_, err := s.NextBatch(one[:])
	return one[0], err
}

// NextBatch implements listwatch.BatchStream. Of a stream without batches it returns one event.
func (s *earlyStream) NextBatch(into []listwatch.Event[object]) (n int, err error) {
	if batches, ok := s.Stream.(listwatch.BatchStream[object]); ok {
		n, err = batches.NextBatch(into)
	} else if into[0], err = s.Stream.Next(); err == nil {
		n = 1
	}
	for i := range into[:n] {
		if s.over = s.over || into[i].InitialEventsEnd; !s.over {
			s.early.event(&into[i])
		}
	}
	return n, err
}
