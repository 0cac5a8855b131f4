package listwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrClosed is what Next returns on a stream that was closed by its owner.
var ErrClosed = errors.New("watch stream closed")

// Watch starts a watch and returns once the server has answered. It does not wait for the rate limiter. An answer other
// than 200 is an *apierrors.StatusError. opts say where to start, how long the server lets it last (TimeoutSeconds) and
// whether to send bookmarks or initial events. The stream must be closed, even after an error.
func (c *Client[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	opts = c.merged(opts)
	opts.Watch = true
	ctx, cancel := context.WithCancel(ctx)
	resp, err := c.send(ctx, c.watchHTTP, opts)
	if err != nil {
		cancel()
		return nil, err
	}
	format, err := formatOf(resp.Header.Get("Content-Type"))
	if err != nil {
		cancel()
		_ = resp.Body.Close()
		return nil, fmt.Errorf("watch %s: %w", c.resource, err)
	}
	return c.newStream(ctx, cancel, resp, format), nil
}

// stream is a watch over HTTP.
//
//	socket ─▶ net/http ─▶ frames.next ─▶ format.splitEvent ─▶ codec ─▶ Event
//	                      └──────────── all in the goroutine that calls Next ────────────┘
//
// The first fields are those of the one goroutine that pulls; closed, cancel and body are shared with Close.
type stream[T Object] struct {
	frames   frameReader
	format   wireFormat
	codec    codec[T]
	protobuf bool
	err      error // sticky, once the stream has ended
	bad      error // an event after the last batch that could not be read

	ctx    context.Context // its end, by cancel or from outside, makes a waiting Read fail
	cancel context.CancelFunc
	body   io.Closer
	closed atomic.Bool
}

func (c *Client[T]) newStream(ctx context.Context, cancel context.CancelFunc, resp *http.Response, format wireFormat) *stream[T] {
	_, isProtobuf := format.(protobufFormat)
	return &stream[T]{
		frames:   format.frames(resp.Body, c.opts.MaxFrameSize),
		format:   format,
		codec:    c.codec,
		protobuf: isProtobuf,
		ctx:      ctx,
		cancel:   cancel,
		body:     resp.Body,
	}
}

// Close implements Stream. Cancelling the request is what wakes a blocked Read, over HTTP/1 and HTTP/2 alike; closing the
// body alone would wait for that Read over some transports.
func (s *stream[T]) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.cancel()
	_ = s.body.Close() // its error is that of a request just cancelled
	return nil
}

// Next implements Stream.
func (s *stream[T]) Next() (Event[T], error) {
	if s.err != nil {
		return Event[T]{}, s.err
	}
	if err := s.ended(); err != nil {
		return Event[T]{}, s.fail(err)
	}
	if err := s.bad; err != nil {
		s.bad = nil
		return Event[T]{}, err
	}
	frame, err := s.frames.next()
	if err != nil {
		return Event[T]{}, s.fail(err)
	}
	return s.decode(frame)
}

// maxBatch is how many events a batch has at most: the first waits until the last is decoded.
const maxBatch = 16

// NextBatch implements BatchStream: it decodes the frames that have arrived whole.
func (s *stream[T]) NextBatch(into []Event[T]) (n int, err error) {
	if into[0], err = s.Next(); err != nil {
		return 0, err
	}
	for n = 1; n < min(len(into), maxBatch) && s.ended() == nil; n++ {
		frame, ok, err := s.frames.cut()
		if !ok || err != nil {
			return n, nil // Next meets the error again
		}
		if into[n], err = s.decode(frame); err != nil {
			if s.err == nil {
				s.bad = err
			}
			return n, nil
		}
	}
	return n, nil
}

// ended returns why nothing may be delivered any more although bytes may have arrived, nil while it may.
func (s *stream[T]) ended() error {
	if s.closed.Load() {
		return ErrClosed
	}
	return s.ctx.Err()
}

// fail ends the stream. What closing and cancelling do to a Read is not what ended it.
func (s *stream[T]) fail(err error) error {
	if ended := s.ended(); ended != nil {
		err = ended
	}
	s.err = err
	return err
}

func (s *stream[T]) decode(frame []byte) (ev Event[T], err error) {
	typ, object, err := s.format.splitEvent(frame)
	if err != nil {
		return ev, s.unreadable(frame, 0, object, fmt.Errorf("watch event: %w", err))
	}
	switch string(typ) {
	case "ADDED":
		ev.Type = Added
	case "MODIFIED":
		ev.Type = Modified
	case "DELETED":
		ev.Type = Deleted
	case "BOOKMARK":
		return s.bookmark(frame, object)
	case "ERROR":
		return ev, s.fail(s.serverError(object))
	default:
		if status := statusIn(frame); len(typ) == 0 && status != nil && status.Kind == "Status" {
			return ev, s.fail(statusError(status)) // an error where the events should be
		}
		return ev, s.unreadable(frame, 0, object, fmt.Errorf("watch event of unknown type %.40q", typ))
	}
	if s.protobuf {
		var tm typeMeta
		var raw []byte
		if tm, raw, err = openProtobuf(object); err == nil {
			ev.Object, err = s.codec.fromProtobuf(raw, tm)
		}
	} else if len(object) == 0 {
		err = errors.New("watch event without an object")
	} else {
		ev.Object, err = s.codec.fromJSON(object, typeMeta{})
	}
	if err != nil {
		return Event[T]{}, s.unreadable(frame, ev.Type, object, err)
	}
	ev.ResourceVersion = ev.Object.GetResourceVersion()
	return ev, nil
}

func (s *stream[T]) bookmark(frame, object []byte) (ev Event[T], err error) {
	meta, err := s.format.objectMeta(object)
	if err == nil && meta.ResourceVersion == "" {
		err = errors.New("the bookmark has no resourceVersion")
	}
	if err != nil {
		return ev, s.unreadable(frame, Bookmark, object, err)
	}
	ev.Type = Bookmark
	ev.ResourceVersion = meta.ResourceVersion
	ev.InitialEventsEnd = meta.Annotations[metav1.InitialEventsAnnotationKey] == "true"
	return ev, nil
}

// unreadable costs one event if the next frame can still be found, otherwise the stream.
func (s *stream[T]) unreadable(frame []byte, typ EventType, object []byte, cause error) error {
	if !s.format.framed(frame) {
		return s.fail(fmt.Errorf("garbage in the watch stream: %w", cause))
	}
	bad := &ObjectError{Type: typ, Err: cause}
	bad.Key, bad.ResourceVersion = s.format.salvage(object, true)
	return bad
}

// serverError turns the object of an ERROR event into an error.
func (s *stream[T]) serverError(object []byte) *apierrors.StatusError {
	status, err := s.format.status(object)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("the watch ended with an ERROR event that cannot be read: %w", err))
	}
	return statusError(status)
}
