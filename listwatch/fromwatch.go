package listwatch

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// FromWatch turns a client-go watch around: from pushing into a channel to being pulled. The stream owns w and stops it
// when it is closed. The end of w's channel is io.EOF: w does not say why it ended. A batch is what is in the channel.
//
// Only the resourceVersions of a *watch.StreamWatcher, which client-go's REST client returns, are taken to rise. For
// any other, even a wrapper of such a watch, they may fall: the reflector cannot notice a server that was set back.
func FromWatch[T Object](w watch.Interface) BatchStream[T] {
	return fromWatch[T](context.Background(), w)
}

// fromWatch stops w when ctx ends, whether or not anybody is in Next.
func fromWatch[T Object](ctx context.Context, w watch.Interface) *puller[T] {
	ctx, cancel := context.WithCancelCause(ctx)
	_, fromServer := w.(*watch.StreamWatcher) // the watch of client-go's REST client
	p := &puller[T]{
		source:    watchSource[T]{w},
		maxBatch:  math.MaxInt,
		unordered: !fromServer,
		ctx:       ctx,
		cancel:    cancel,
		release:   sync.OnceFunc(w.Stop),
	}
	context.AfterFunc(ctx, p.release)
	return p
}

type watchSource[T Object] struct{ watch watch.Interface }

func (s watchSource[T]) next(ctx context.Context, wait bool) (ev Event[T], err error) {
	// First a receive from one channel: it costs a fraction of a select on two.
	select {
	case from, open := <-s.watch.ResultChan():
		return eventOf[T](from, open)
	default:
	}
	if !wait {
		return ev, nil
	}
	select {
	case <-ctx.Done():
		return ev, ctx.Err()
	case from, open := <-s.watch.ResultChan():
		return eventOf[T](from, open)
	}
}

// eventOf converts what came out of the watch's channel.
func eventOf[T Object](from watch.Event, open bool) (Event[T], error) {
	if !open {
		return Event[T]{}, io.EOF
	}
	switch from.Type {
	case watch.Error:
		return Event[T]{}, statusErrorOf(from.Object)
	case watch.Bookmark:
		meta, err := metadataOf(from.Object)
		if err != nil {
			return Event[T]{}, &ObjectError{Type: Bookmark, Err: err}
		}
		ev, err := bookmarkOf[T](meta)
		if err != nil {
			return Event[T]{}, &ObjectError{Type: Bookmark, Err: err}
		}
		return ev, nil
	}
	typ := eventTypes[string(from.Type)]
	obj, bad := objectOf[T](from.Object)
	if bad != nil {
		bad.Type = typ
		return Event[T]{}, bad
	}
	version := obj.GetResourceVersion()
	if typ == 0 {
		return Event[T]{}, &ObjectError{Key: KeyOf(obj), ResourceVersion: version, Err: unknownType(string(from.Type))}
	}
	return Event[T]{Type: typ, Object: obj, ResourceVersion: version}, nil
}

func metadataOf(obj runtime.Object) (metav1.Object, error) {
	if isNilPointer(obj) {
		return nil, errors.New("the bookmark has no object")
	}
	return meta.Accessor(obj)
}
