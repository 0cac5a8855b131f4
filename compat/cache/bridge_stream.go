package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/listwatch"
)

// bridgeStream is a client-go watch, which pushes events into a channel, as a stream that is pulled.
type bridgeStream struct {
	ctx    context.Context
	bridge *bridge
	watch  watch.Interface
	err    error // sticky, once the stream has ended; only Next uses it
	lists  bool  // the initial events of a streaming list have not ended; only Next uses it

	closeOnce sync.Once
	closed    chan struct{}
	forget    func() bool // releases ctx, which may live longer than the stream
}

func newBridgeStream(ctx context.Context, b *bridge, opts metav1.ListOptions, w watch.Interface) *bridgeStream {
	lists := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	s := &bridgeStream{ctx: ctx, bridge: b, watch: w, lists: lists, closed: make(chan struct{})}
	s.forget = context.AfterFunc(ctx, s.stop)
	return s
}

// Close implements listwatch.Stream.
func (s *bridgeStream) Close() error {
	s.forget()
	s.stop()
	return nil
}

func (s *bridgeStream) stop() {
	s.closeOnce.Do(func() {
		close(s.closed) // first, so that Next knows that Close ended the channel
		s.watch.Stop()
	})
}

// UnorderedVersions is true unless the watch is that of client-go's REST client, unwrapped: a fake's need not rise.
func (s *bridgeStream) UnorderedVersions() bool {
	_, fromServer := s.watch.(*watch.StreamWatcher)
	return !fromServer
}

// Next implements listwatch.Stream.
func (s *bridgeStream) Next() (ev listwatch.Event[object], err error) {
	if s.bridge.beforeNext != nil {
		s.bridge.beforeNext()
	}
	if s.err != nil {
		return ev, s.err
	}
	if s.err = s.ended(); s.err != nil { // a select would choose at random between an ended stream and a waiting event
		return ev, s.err
	}
	interrupt := s.bridge.interrupt
	if s.lists {
		interrupt = nil
	}
	select {
	case <-s.closed:
		s.err = s.ended()
	case <-s.ctx.Done():
		s.err = s.ctx.Err()
	case s.err = <-interrupt:
	case from, ok := <-s.watch.ResultChan():
		switch {
		case ok && from.Type == watch.Error:
			s.err = apierrors.FromObject(from.Object)
		case ok:
			ev, err = s.bridge.eventOf(from)
			s.lists = s.lists && !ev.InitialEventsEnd
			return ev, err
		default:
			if s.err = s.ended(); s.err == nil {
				s.err = io.EOF
			}
		}
	}
	return ev, s.err
}

func (s *bridgeStream) ended() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closed:
		return listwatch.ErrClosed
	default:
		return nil
	}
}

// eventOf converts one event. The error, if there is one, is an *ObjectError.
func (b *bridge) eventOf(from watch.Event) (ev listwatch.Event[object], err error) {
	switch from.Type {
	case watch.Added:
		ev.Type = listwatch.Added
	case watch.Modified:
		ev.Type = listwatch.Modified
	case watch.Deleted:
		ev.Type = listwatch.Deleted
	case watch.Bookmark:
		return bookmarkOf(from)
	}
	if from.Object == nil {
		return ev, &listwatch.ObjectError{Type: ev.Type, Err: errors.New("the event has no object")}
	}
	obj, bad := b.objectOfEvent(from.Object)
	if bad == nil && ev.Type == 0 {
		bad = &listwatch.ObjectError{Key: listwatch.KeyOf(obj), Err: fmt.Errorf("unknown watch event type %.40q", from.Type)}
	}
	if bad != nil {
		bad.Type = ev.Type
		return listwatch.Event[object]{}, bad
	}
	ev.Object, ev.ResourceVersion = obj, obj.GetResourceVersion()
	return ev, nil
}

// bookmarkOf accepts a bookmark of any type, for only its metadata count.
func bookmarkOf(from watch.Event) (ev listwatch.Event[object], err error) {
	if from.Object == nil || isNilPointer(from.Object) {
		return ev, &listwatch.ObjectError{Type: listwatch.Bookmark, Err: errors.New("the bookmark has no object")}
	}
	m, err := meta.Accessor(from.Object)
	if err != nil {
		return ev, &listwatch.ObjectError{Type: listwatch.Bookmark, Err: err}
	}
	ev.Type, ev.ResourceVersion = listwatch.Bookmark, m.GetResourceVersion()
	ev.InitialEventsEnd = m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	return ev, nil
}
