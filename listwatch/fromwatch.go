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
func eventOf[T Object](from watch.Event, open bool) (ev Event[T], err error) {
	if !open {
		return ev, io.EOF
	}
	var bad *ObjectError
	ev.Type = eventTypes[string(from.Type)]
	switch {
	case from.Type == watch.Error:
		return ev, statusErrorOf(from.Object)
	case ev.Type == Bookmark:
		if ev.ResourceVersion, ev.InitialEventsEnd, err = bookmark(metadataOf(from.Object)); err != nil {
			bad = &ObjectError{Err: err}
		}
	default:
		if ev.Object, bad = objectOf[T](from.Object); bad != nil {
			break
		}
		ev.ResourceVersion = ev.Object.GetResourceVersion()
		if ev.Type == 0 {
			err = unknownType(string(from.Type))
			bad = &ObjectError{Key: KeyOf(ev.Object), ResourceVersion: ev.ResourceVersion, Err: err}
		}
	}
	if bad != nil {
		bad.Type = ev.Type
		return Event[T]{}, bad
	}
	return ev, nil
}

func metadataOf(obj runtime.Object) (metav1.Object, error) {
	if isNilPointer(obj) {
		return nil, errors.New("the bookmark has no object")
	}
	return meta.Accessor(obj)
}
