package wire

import (
	"cmp"
	"errors"
	"fmt"
	"io"
)

// ErrFrameTooLarge ends a stream whose next frame exceeds the limit. A watch that resumes before that event meets it
// again: list instead.
var ErrFrameTooLarge = errors.New("watch frame exceeds the limit")

const (
	bufferSize = 8 << 10
	// bufferKeep is the size beyond which a buffer that one big frame has grown is dropped after that frame.
	bufferKeep = 256 << 10
	// emptyReads is how often a reader may return neither bytes nor an error.
	emptyReads = 100
)

// Reader cuts a stream of bytes into frames. It is for one goroutine at a time.
//
//	buf:  [ delivered │ arrived, not delivered │ free ]
//	                start                     end
type Reader struct {
	from  io.Reader
	cut   cutter
	limit int // bytes that a frame may have

	buf        []byte
	start, end int
	err        error // of from, once it failed; bytes that came with it are delivered first
}

// cutter finds the first frame in the bytes that have arrived.
type cutter interface {
	// frame returns how many bytes of data to skip, and how many of those behind them are the frame. If it has not
	// arrived whole, ok is false; then the call after has the bytes that are not skipped, and more behind them. An
	// error comes again.
	frame(data []byte, limit int) (skip, size int, ok bool, err error)
}

// NewReader returns a reader of the frames in from. A frame may have limit bytes.
func NewReader(from io.Reader, format Format, limit int) *Reader {
	return &Reader{from: from, cut: format.newCutter(), limit: limit}
}

// Next returns the next frame, which is valid until the next call. If it has not arrived whole, Next blocks if wait is
// set, and otherwise returns nil. Errors are io.EOF, if the stream ended between two frames, and others that wrap
// ErrFrameTooLarge, io.ErrUnexpectedEOF or what Read returned.
func (r *Reader) Next(wait bool) ([]byte, error) {
	for {
		skip, size, ok, err := r.cut.frame(r.buf[r.start:r.end], r.limit)
		r.start += skip
		if ok {
			frame := r.buf[r.start : r.start+size : r.start+size]
			r.start += size
			return frame, nil
		}
		if err != nil || !wait {
			return nil, err
		}
		if err := r.fill(); err != nil {
			return nil, r.broken(err)
		}
	}
}

// fill makes room and reads once. The frame that Next returned is invalid then.
func (r *Reader) fill() error {
	pending := r.buf[r.start:r.end]
	switch {
	case len(pending) == 0 && (r.buf == nil || cap(r.buf) > bufferKeep):
		r.buf = make([]byte, bufferSize)
	case len(pending) > len(r.buf)/2:
		grown := make([]byte, 2*len(r.buf))
		copy(grown, pending)
		r.buf = grown
	default:
		copy(r.buf, pending)
	}
	r.start, r.end = 0, len(pending)
	for range emptyReads {
		if r.err != nil {
			return r.err
		}
		var n int
		n, r.err = r.from.Read(r.buf[r.end:])
		r.end += n
		if n > 0 {
			return nil
		}
	}
	r.err = cmp.Or(r.err, io.ErrNoProgress)
	return r.err
}

// broken explains why there is no frame: the end of a stream is clean only between two frames.
func (r *Reader) broken(err error) error {
	pending := r.end - r.start
	switch {
	case err == io.EOF && pending == 0:
		return io.EOF
	case err == io.EOF:
		return fmt.Errorf("watch stream ended within a frame, after %d of its bytes: %w", pending, io.ErrUnexpectedEOF)
	case pending == 0:
		return fmt.Errorf("watch stream broke between two frames: %w", err)
	default:
		return fmt.Errorf("watch stream broke within a frame, after %d of its bytes: %w", pending, err)
	}
}

func tooLarge(size uint64, limit int) error {
	return fmt.Errorf("%w: at least %d bytes, limit %d", ErrFrameTooLarge, size, limit)
}
