package listwatch

import (
	"context"
	"errors"
)

// ErrClosed is what Next returns on a stream that was closed by its owner.
var ErrClosed = errors.New("watch stream closed")

// source is where the events of a stream come from.
type source[T Object] interface {
	// next returns the next event. If none has arrived, next blocks until there is one or ctx ends. What it returns:
	//
	//	an event, no error       the next event
	//	no event, no error       without wait: none has arrived
	//	*ObjectError             an event that cannot be read; the next one can still come
	//	errForeign               an event of another shard, which is passed over
	//	another error            the end of the stream
	next(ctx context.Context, wait bool) (Event[T], error)
}

// puller makes a BatchStream of a source. Next and NextBatch are for one goroutine, Close for any.
type puller[T Object] struct {
	source   source[T]
	maxBatch int
	// err is what the source returned. If events came before it, they are returned first, and err by the next call.
	// Invariant: nothing is taken from the source while err is set.
	err error

	// unordered: resourceVersions may fall. See UnorderedVersions.
	unordered bool

	ctx     context.Context // of the watch; its cause is ErrClosed after Close
	cancel  context.CancelCauseFunc
	release func() // frees what the source holds; a second call does no harm
}

// Close implements Stream. Cancelling the request is what wakes a blocked Read, over HTTP/1 and HTTP/2 alike; closing
// the body alone would wait for that Read over some transports.
func (p *puller[T]) Close() error {
	p.cancel(ErrClosed)
	p.release()
	return nil
}

// UnorderedVersions reports whether the resourceVersions of the events may fall, because no API server sends them. The
// objects of a fake clientset keep the versions that a test gave them. The reflector asks when it opens a watch.
func (p *puller[T]) UnorderedVersions() bool { return p.unordered }

// Next implements Stream.
func (p *puller[T]) Next() (_ Event[T], err error) {
	var one [1]Event[T]
	for n := 0; n == 0 && err == nil; {
		n, err = p.NextBatch(one[:])
	}
	return one[0], err
}

// NextBatch implements BatchStream. The source is asked to wait for the first event only.
func (p *puller[T]) NextBatch(into []Event[T]) (int, error) {
	n := 0
	for n < min(len(into), p.maxBatch) {
		ev, err := p.pull(n == 0)
		if err == errForeign {
			if n == 0 {
				return 0, nil // the caller waits, not this loop: a run of such objects may be long
			}
			continue
		}
		p.err = err
		if err != nil || ev.Type == 0 {
			break
		}
		into[n] = ev
		n++
	}
	if n > 0 {
		return n, nil
	}
	err := p.err
	if _, costsOne := err.(*ObjectError); costsOne {
		p.err = nil
	}
	return 0, err
}

// pull returns the next event of the source, or the error that an earlier call has kept. Once the stream is closed or
// cancelled that is the error, whatever the source says: it may have failed because of it.
func (p *puller[T]) pull(wait bool) (ev Event[T], err error) {
	err = p.err
	if err == nil {
		ev, err = p.source.next(p.ctx, wait)
	}
	if p.ctx.Err() != nil {
		err = context.Cause(p.ctx)
	}
	return ev, err
}
