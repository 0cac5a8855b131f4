package cache

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// earlyTransform transforms the initial events of a streaming list as they come. Else all of them would be in memory as
// they came, and what the transform drops would be part of the heap that the garbage collector plans with. Of an informer
// whose objects share parts it also transforms other lists. The queue transforms all other objects, when it gets them. Its
// methods are for the reflector's goroutine.
type earlyTransform struct {
	transform func(object) (object, error)
	wanted    func() bool      // whether there is a transform
	shared    *sharedTransform // nil: objects share nothing
	// done has the result for each object that the queue has not got yet.
	done map[object]transformed
}

// transformed is what a transform has returned.
type transformed struct {
	obj object
	err error
}

// forget forgets the objects of a list that the queue has got, or will not get.
func (e *earlyTransform) forget() { e.done = nil }

// runs is called before the informer runs, and when it has ended.
func (e *earlyTransform) runs(on bool) {
	e.forget()
	if e.shared != nil {
		e.shared.sharing.Guard(on && e.wanted())
	}
}

// begins is called before each list.
func (e *earlyTransform) begins() {
	e.forget()
	if e.shared != nil && e.wanted() {
		e.shared.begins()
	}
}

// event transforms the object of an initial event. A deletion among them, which no server sends, is left to the queue.
func (e *earlyTransform) event(ev *listwatch.Event[object]) {
	if (ev.Type == listwatch.Added || ev.Type == listwatch.Modified) && e.wanted() {
		ev.Object = e.early(ev.Object)
	}
}

// early transforms an object and returns what stands for it until the queue asks. Reflector and queue need the key that
// the server gave. If the result does not have it, metadata with that key stand for it.
func (e *earlyTransform) early(obj object) object {
	key, version := listwatch.KeyOf(obj), obj.GetResourceVersion() // a transform may write to them
	out, err := e.transform(obj)
	standsFor := out
	if err != nil || listwatch.KeyOf(out) != key {
		standsFor = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, ResourceVersion: version,
		}}
	}
	if e.done == nil {
		e.done = map[object]transformed{}
	}
	e.done[standsFor] = transformed{out, err}
	return standsFor
}

// page transforms a page of a list whose objects share parts. What gets deep copies is left to the queue.
func (e *earlyTransform) page(list *listwatch.List[object]) error {
	if e.shared == nil || !e.wanted() {
		return nil
	}
	for i, obj := range list.Items {
		if e.shared.copiesAll {
			break
		}
		list.Items[i] = e.early(obj)
	}
	if list.Continue != "" && !e.shared.refused {
		return nil
	}
	return e.ends()
}

func (e *earlyTransform) refused() bool { return e.shared != nil && e.shared.refused }

// ends is called at the end of a list whose objects were transformed early, or earlier if it is refused.
func (e *earlyTransform) ends() error {
	if e.shared == nil || !e.wanted() {
		return nil
	}
	err := e.shared.ends()
	if err != nil {
		e.forget()
	}
	return err
}

// object is the transform of the queue.
func (e *earlyTransform) object(obj object) (object, error) {
	result, done := e.done[obj]
	if !done {
		return e.transform(obj)
	}
	if delete(e.done, obj); len(e.done) == 0 {
		e.done = nil // a map keeps its memory
	}
	return result.obj, result.err
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
	for {
		if n, err := s.NextBatch(one[:]); n > 0 || err != nil {
			return one[0], err
		}
	}
}

// NextBatch implements listwatch.BatchStream. Of a stream without batches it returns one event.
func (s *earlyStream) NextBatch(into []listwatch.Event[object]) (n int, err error) {
	if s.over {
		s.early.forget() // the queue has the list
	}
	if batches, ok := s.Stream.(listwatch.BatchStream[object]); ok {
		n, err = batches.NextBatch(into)
	} else if into[0], err = s.Stream.Next(); err == nil {
		n = 1
	}
	for i := range into[:n] {
		switch {
		case s.over:
		case !into[i].InitialEventsEnd && !s.early.refused():
			s.early.event(&into[i])
		default:
			s.over = true
			if refused := s.early.ends(); refused != nil {
				return 0, refused
			}
		}
	}
	return n, err
}
