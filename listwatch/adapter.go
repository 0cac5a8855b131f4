package listwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Funcs makes a ListerWatcher of the two functions that a client-go clientset offers, its fake included. Both must be
// safe for concurrent use, and must return when their context ends: List and Watch wait for them. Their objects are passed on,
// not copied.
type Funcs[T Object] struct {
	// ListFunc returns a list object such as *corev1.ServiceList.
	ListFunc func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
	// WatchFunc returns a running watch.
	WatchFunc func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// List implements ListerWatcher. A list without a resourceVersion is ErrNoResourceVersion.
func (f Funcs[T]) List(ctx context.Context, opts metav1.ListOptions) (*List[T], error) {
	from, err := f.ListFunc(ctx, opts)
	if err != nil {
		return nil, err
	}
	m, err := meta.ListAccessor(from)
	if err != nil {
		return nil, fmt.Errorf("ListFunc returned a %T: %w", from, err)
	}
	if m.GetResourceVersion() == "" {
		return nil, ErrNoResourceVersion
	}
	list := &List[T]{
		ResourceVersion:    m.GetResourceVersion(),
		Continue:           m.GetContinue(),
		RemainingItemCount: m.GetRemainingItemCount(),
	}
	// WithAlloc: keeping one item does not keep the array of all.
	err = meta.EachListItemWithAlloc(from, func(item runtime.Object) error {
		obj, bad := objectOf[T](item)
		if bad != nil {
			list.Bad = append(list.Bad, bad)
		} else {
			list.Items = append(list.Items, obj)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the items of a %T: %w", from, err)
	}
	return list, nil
}

// Watch implements ListerWatcher. Cancelling ctx ends the stream and stops the watch below it, whether or not anybody is
// in Next: what WatchFunc returned need not heed ctx. Its Stop may be called from a goroutine of its own.
func (f Funcs[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	opts.Watch = true
	w, err := f.WatchFunc(ctx, opts)
	if err != nil {
		return nil, err
	}
	s := fromWatch[T](ctx, w)
	s.forget = context.AfterFunc(ctx, s.stop)
	return s, nil
}

// FromWatch turns a client-go watch around: from pushing into a channel to being pulled. The stream owns w and stops it
// when it is closed. The end of w's channel is io.EOF: w does not say why it ended. A batch is what waits in the channel.
func FromWatch[T Object](w watch.Interface) BatchStream[T] {
	return fromWatch[T](context.Background(), w)
}

func fromWatch[T Object](ctx context.Context, w watch.Interface) *watchStream[T] {
	return &watchStream[T]{ctx: ctx, watch: w, closed: make(chan struct{}), forget: func() bool { return true }}
}

type watchStream[T Object] struct {
	ctx    context.Context
	forget func() bool // lets go of ctx, which may live longer than the stream; set before anybody has the stream
	watch  watch.Interface
	// Only Next and NextBatch use these.
	err error // sticky, once the stream has ended
	bad error // an event after the last batch that could not be read

	closeOnce sync.Once
	stopped   atomic.Bool   // by stop, before closed is closed: cheaper to ask
	closed    chan struct{} // wakes Next
}

// Close implements Stream.
func (s *watchStream[T]) Close() error {
	s.forget()
	s.stop()
	return nil
}

// stop returns when the watch below is stopped.
func (s *watchStream[T]) stop() {
	s.closeOnce.Do(func() {
		s.stopped.Store(true)
		close(s.closed) // first, so that Next knows who ended the channel
		s.watch.Stop()
	})
}

// UnorderedVersions reports whether versions may fall, as those of a fake clientset do: its objects keep the versions that
// a test gave them. Only a StreamWatcher, the watch of client-go's REST client, is known to decode a server's events.
// The reflector asks once, when the watch is opened.
func (s *watchStream[T]) UnorderedVersions() bool {
	_, fromServer := s.watch.(*watch.StreamWatcher)
	return !fromServer
}

// Next implements Stream.
func (s *watchStream[T]) Next() (ev Event[T], err error) {
	if s.err != nil {
		return ev, s.err
	}
	if s.err = s.ended(); s.err != nil {
		return ev, s.err
	}
	if err, s.bad = s.bad, nil; err != nil {
		return ev, err
	}
	results := s.watch.ResultChan()
	select {
	case from, ok := <-results:
		return s.take(from, ok) // a receive from one channel costs a fraction of a select on three
	default:
	}
	select {
	case <-s.closed:
		s.err = s.ended()
	case <-s.ctx.Done():
		s.stop()
		s.err = s.ctx.Err()
	case from, ok := <-results:
		return s.take(from, ok)
	}
	return Event[T]{}, s.err
}

// NextBatch implements BatchStream: it takes what waits in the watch's channel.
func (s *watchStream[T]) NextBatch(into []Event[T]) (n int, err error) {
	if into[0], err = s.Next(); err != nil {
		return 0, err
	}
	results := s.watch.ResultChan()
	for n = 1; n < len(into) && len(results) > 0 && s.ended() == nil; n++ {
		select {
		case from, ok := <-results:
			if into[n], err = s.take(from, ok); err != nil {
				if s.err == nil {
					s.bad = err
				}
				return n, nil
			}
		default:
			return n, nil
		}
	}
	return n, nil
}

// take is what came out of the watch's channel.
func (s *watchStream[T]) take(from watch.Event, ok bool) (ev Event[T], err error) {
	if ok {
		ev, err, s.err = eventOf[T](from)
		if s.err == nil {
			return ev, err
		}
	} else if s.err = s.ended(); s.err == nil {
		s.err = io.EOF
	}
	return Event[T]{}, s.err
}

// ended returns why nothing may be delivered any more although an event may wait, nil while it may.
func (s *watchStream[T]) ended() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.stopped.Load() {
		return ErrClosed
	}
	return nil
}

// eventOf converts one event. bad costs this event, final the stream.
func eventOf[T Object](from watch.Event) (ev Event[T], bad, final error) {
	switch from.Type {
	case watch.Error:
		return ev, nil, statusErrorOf(from.Object)
	case watch.Bookmark:
		return bookmarkOf[T](from.Object)
	case watch.Added:
		ev.Type = Added
	case watch.Modified:
		ev.Type = Modified
	case watch.Deleted:
		ev.Type = Deleted
	}
	obj, unreadable := objectOf[T](from.Object)
	if ev.Type == 0 && unreadable == nil {
		unreadable = &ObjectError{Key: KeyOf(obj), ResourceVersion: obj.GetResourceVersion()}
		unreadable.Err = fmt.Errorf("watch event of unknown type %.40q", from.Type)
	}
	if unreadable != nil {
		unreadable.Type = ev.Type
		return Event[T]{}, unreadable, nil
	}
	ev.Object, ev.ResourceVersion = obj, obj.GetResourceVersion()
	return ev, nil, nil
}

func bookmarkOf[T Object](obj runtime.Object) (ev Event[T], bad, final error) {
	if isNilPointer(obj) {
		return ev, &ObjectError{Type: Bookmark, Err: errors.New("the bookmark has no object")}, nil
	}
	m, err := meta.Accessor(obj)
	if err == nil && m.GetResourceVersion() == "" {
		err = errors.New("the bookmark has no resourceVersion")
	}
	if err != nil {
		return ev, &ObjectError{Type: Bookmark, Err: err}, nil
	}
	ev.Type = Bookmark
	ev.ResourceVersion = m.GetResourceVersion()
	ev.InitialEventsEnd = m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	return ev, nil, nil
}

// objectOf finds the T in obj.
func objectOf[T Object](obj runtime.Object) (T, *ObjectError) {
	typed, ok := obj.(T)
	isNil := isNilPointer(obj)
	if ok && !isNil {
		if typed.GetName() != "" {
			return typed, nil
		}
		return typed, &ObjectError{ResourceVersion: typed.GetResourceVersion(), Err: errNoName}
	}
	var none T
	bad := &ObjectError{Err: fmt.Errorf("the object is a %T, not a %T", obj, none)}
	if m, err := meta.Accessor(obj); err == nil && !ok && !isNil && m.GetName() != "" {
		bad.Key, bad.ResourceVersion = KeyOf(m), m.GetResourceVersion()
	}
	return none, bad
}

func statusErrorOf(obj runtime.Object) error {
	if isNilPointer(obj) {
		obj = nil
	}
	err := apierrors.FromObject(obj)
	if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return err
	}
	return apierrors.NewInternalError(fmt.Errorf("the watch ended with an ERROR event that cannot be read: %w", err))
}

// isNilPointer finds a nil pointer in the interface, on which most methods would panic.
func isNilPointer(obj runtime.Object) bool {
	v := reflect.ValueOf(obj)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
