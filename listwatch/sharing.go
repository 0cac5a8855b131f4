package listwatch

import (
	"reflect"

	"glasswatch/listwatch/memo"
)

// Sharing returns a client on the same resource whose objects share their parts: strings, slices, maps and what pointers lead
// to are in memory once, if they are equal. So they must not be written to. An object itself is the receiver's alone, and
// so are its own fields; what these lead to is not.
//
// Of what comes as protobuf, a part whose bytes were decoded before is not decoded again: see [glasswatch/listwatch/memo].
// Other objects are given to share, once and before anybody else has them; it may be nil, and then they share nothing.
func (c *Client[T]) Sharing(share func(T) (T, error)) ListerWatcher[T] {
	shared := *c
	shared.codec = c.codec.sharing(share)
	return &shared
}

// SharingOf returns what lists and watches the same as lw with objects that share their parts: that of its Sharing method, as
// a [Client] has one. ok is false for a ListerWatcher without one, such as a clientset's, and for one whose method returns
// another type than its own: who embeds a Client has its method, and that knows nothing of the List and Watch around it.
func SharingOf[T Object](lw ListerWatcher[T], share func(T) (T, error)) (shared ListerWatcher[T], ok bool) {
	can, ok := lw.(interface {
		Sharing(share func(T) (T, error)) ListerWatcher[T]
	})
	if !ok {
		return lw, false
	}
	shared = can.Sharing(share)
	if reflect.TypeOf(shared) != reflect.TypeOf(lw) {
		return lw, false
	}
	return shared, true
}

// sharer is what a codec does to have objects share their parts. The zero value does nothing.
type sharer[T Object] struct {
	known  *memo.Decoder // of protobuf; nil: decodes as ever
	others func(T) (T, error)
}

// newSharer makes one of objects of type typ, nil for objects without a protobuf form.
func newSharer[T Object](typ reflect.Type, others func(T) (T, error)) sharer[T] {
	s := sharer[T]{others: others}
	if typ != nil {
		s.known = memo.New(typ, memo.Options{})
	}
	return s
}

func (s sharer[T]) unmarshal(raw []byte, obj unmarshaler) error {
	if s.known != nil {
		return s.known.Unmarshal(raw, obj)
	}
	return obj.Unmarshal(raw)
}

// share takes the results of named.
func (s sharer[T]) share(obj T, err error) (T, error) {
	if err != nil || s.others == nil {
		return obj, err
	}
	return s.others(obj)
}

// shareUnlessKnown is share for an object that unmarshal made.
func (s sharer[T]) shareUnlessKnown(obj T, err error) (T, error) {
	if s.known != nil {
		return obj, err // sharing it once more would write into what others hold
	}
	return s.share(obj, err)
}
