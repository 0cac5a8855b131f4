package listwatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch/wire"
)

// ErrFrameTooLarge ends a stream whose next frame exceeds Options.MaxFrameSize. A watch that resumes before that event
// meets it again: list instead.
var ErrFrameTooLarge = wire.ErrFrameTooLarge

const (
	defaultMaxFrameSize = 16 << 20
	// maxBatch bounds a batch, because its first event is returned only when its last is decoded.
	maxBatch = 16
)

// Watch starts a watch and returns once the server has answered. It does not wait for the rate limiter. An answer other
// than 200 is an *apierrors.StatusError. opts say where to start, how long the server lets it last (TimeoutSeconds) and
// whether to send bookmarks or initial events. The stream must be closed, even after an error of Next.
func (c *Client[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	opts.Watch = true
	ctx, cancel := context.WithCancelCause(ctx)
	resp, err := c.send(ctx, c.watchHTTP, opts)
	if err != nil {
		cancel(err)
		return nil, err
	}
	return c.ReadWatch(ctx, cancel, resp)
}

// ReadWatch reads the answer to a watch that the caller has sent by itself. cancel ends ctx, that of the request.
func (c *Client[T]) ReadWatch(
	ctx context.Context, cancel context.CancelCauseFunc, resp *http.Response,
) (Stream[T], error) {
	format, err := wire.FormatOf(resp.Header.Get("Content-Type"))
	if err != nil {
		cancel(err)
		_ = resp.Body.Close()
		return nil, fmt.Errorf("watch %s: %w", c.resource, err)
	}
	return &puller[T]{
		source:   &httpSource[T]{wire.NewReader(resp.Body, format, c.opts.MaxFrameSize), format, c.codec},
		maxBatch: maxBatch,
		ctx:      ctx,
		cancel:   cancel,
		release:  func() { _ = resp.Body.Close() }, // the error is that of a request just cancelled
	}, nil
}

// httpSource is the body of a watch over HTTP.
//
//	socket ─▶ net/http ─▶ wire.Reader ─▶ wire.Format ─▶ codec ─▶ Event
//	                      └────── all in the goroutine that calls Next ──────┘
type httpSource[T Object] struct {
	frames *wire.Reader
	format wire.Format
	codec  *codec[T]
}

// next returns when the context of the request ends, because the body can be read no longer then.
func (s *httpSource[T]) next(_ context.Context, wait bool) (ev Event[T], err error) {
	frame, err := s.frames.Next(wait)
	if frame == nil {
		return ev, err
	}
	typ, object, err := s.format.Event(frame)
	// The server has ended the watch, or nobody can tell where the next frame begins.
	if _, ended := err.(*apierrors.StatusError); ended || errors.Is(err, wire.ErrGarbage) {
		return ev, err
	}
	if err == nil {
		ev, err = s.eventOf(typ, object)
	}
	if err == nil || err == errForeign {
		return ev, err
	}
	return Event[T]{}, unreadable(eventTypes[typ], object, err)
}

// eventOf decodes the object of an event.
func (s *httpSource[T]) eventOf(typ string, object wire.Object) (Event[T], error) {
	event := eventTypes[typ]
	switch event {
	case 0:
		return Event[T]{}, unknownType(typ)
	case Bookmark:
		var meta metav1.PartialObjectMetadata
		err := object.Decode(&meta, nil)
		if err != nil {
			return Event[T]{}, err
		}
		return bookmarkOf[T](&meta)
	default:
		obj, err := s.codec.decode(object, "")
		if err != nil {
			return Event[T]{}, err
		}
		return Event[T]{Type: event, Object: obj, ResourceVersion: obj.GetResourceVersion()}, nil
	}
}

func unreadable(typ EventType, object wire.Object, err error) *ObjectError {
	key, version := object.Key()
	return &ObjectError{Type: typ, Key: key, ResourceVersion: version, Err: err}
}

func unknownType(name string) error { return fmt.Errorf("watch event of unknown type %.40q", name) }

// bookmarkOf makes an event of the metadata of a bookmark's object.
func bookmarkOf[T Object](meta metav1.Object) (Event[T], error) {
	ev := Event[T]{
		Type:             Bookmark,
		ResourceVersion:  meta.GetResourceVersion(),
		InitialEventsEnd: meta.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true",
	}
	if ev.ResourceVersion == "" {
		return ev, errors.New("the bookmark has no resourceVersion")
	}
	return ev, nil
}
