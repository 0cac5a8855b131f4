package listwatch

import (
	"context"
	"errors"
)

// ErrClosed is what Next returns on a stream that was closed by its owner.
var ErrClosed = errors.New("watch stream closed")

// source is where the events of a stream come from. An error that is an *ObjectError costs one event; any other is the
// end of the stream.
type source[T Object] interface {
	// wait blocks until there is an event, or until ctx ends.
	wait(ctx context.Context) (Event[T], error)
	// poll does not block: ok is false if there is nothing now.
	poll() (ev Event[T], ok bool, err error)
}

// puller makes a BatchStream of a source. Next and NextBatch are for one goroutine, Close for any.
type puller[T Object] struct {
	source   source[T]
	maxBatch int
	// Invariant: nothing is taken from the source once end is set, nor before bad was returned.
	end error
	bad error // an event after the last batch that could not be read

	ctx     context.Context // of the watch; its cause is ErrClosed after Close
	cancel  context.CancelCauseFunc
	release func() // frees what the source holds; a second call does nothing
}

// Close implements Stream. Cancelling the request is what wakes a blocked Read, over HTTP/1 and HTTP/2 alike; closing
// the body alone would wait for that Read over some transports.
func (p *puller[T]) Close() error {
	p.cancel(ErrClosed)
	p.release()
	return nil
}

// Next implements Stream.
func (p *puller[T]) Next() (Event[T], error) {
	if p.end == nil {
		p.end = p.ended()
	}
	if p.end != nil {
		return Event[T]{}, p.end
	}
	if bad := p.bad; bad != nil {
		p.bad = nil
		return Event[T]{}, bad
	}
	ev, err := p.source.wait(p.ctx)
	if err != nil {
		err = p.judge(err)
	}
	return ev, err
}

// NextBatch implements BatchStream.
func (p *puller[T]) NextBatch(into []Event[T]) (n int, err error) {
	if into[0], err = p.Next(); err != nil {
		return 0, err
	}
	for n = 1; n < min(len(into), p.maxBatch) && p.ended() == nil; n++ {
		ev, ok, err := p.source.poll()
		if err != nil {
			p.bad = p.judge(err)
		}
		if !ok || err != nil {
			break
		}
		into[n] = ev
	}
	return n, nil
}

// ended returns why nothing may be delivered any more although events may have arrived, nil while they may.
func (p *puller[T]) ended() error {
	err := p.ctx.Err()
	if err != nil && context.Cause(p.ctx) == ErrClosed {
		return ErrClosed
	}
	return err
}

// judge remembers the error if it ends the stream. What closing and cancelling do to a source is not what ended it.
func (p *puller[T]) judge(err error) error {
	if _, costsOne := err.(*ObjectError); costsOne {
		return err
	}
	if p.end = p.ended(); p.end == nil {
		p.end = err
	}
	return p.end
}
