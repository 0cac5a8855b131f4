package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrFrameTooLarge ends a stream whose next frame exceeds the limit. A watch that resumes before that event meets it
// again: list instead.
var ErrFrameTooLarge = errors.New("watch frame exceeds the limit")

const (
	bufferSize = 8 << 10
	// bufferKeep: a buffer that has grown beyond this size is dropped once all its bytes are delivered.
	bufferKeep = 256 << 10
	// lengthSize is the size of the length before a protobuf frame, which is big endian.
	lengthSize = 4
	// emptyReads is how often a reader may return neither bytes nor an error.
	emptyReads = 100
)

// Reader cuts a stream of bytes into frames. It is for one goroutine at a time.
//
//	buf:  [ delivered │ arrived, not delivered │ free ]
//	                start                     end
type Reader struct {
	from  io.Reader
	json  *jsonCutter // nil for protobuf, whose frames have their length before them
	limit int         // bytes that a frame may have

	buf        []byte
	start, end int
	err        error // of from, once it failed; bytes that came with it are delivered first
}

// NewReader returns a reader of the frames in from. A frame may have limit bytes.
func NewReader(from io.Reader, format Format, limit int) *Reader {
	r := &Reader{from: from, limit: limit}
	if format == asJSON {
		r.json = &jsonCutter{}
	}
	return r
}

// Next returns the next frame, which is valid until the next call. If it has not arrived whole, Next blocks if wait is
// set, and otherwise returns nil. A stream that ends between two frames is io.EOF. Other errors wrap ErrFrameTooLarge,
// io.ErrUnexpectedEOF, io.ErrNoProgress or what Read returned. The error for bytes that do not start a JSON object
// wraps none of these.
func (r *Reader) Next(wait bool) ([]byte, error) {
	for empty := 0; ; {
		var skip, size int // if ok, a frame has arrived whole: the size bytes behind the first skip
		var ok bool
		var err error
		if data := r.buf[r.start:r.end]; r.json != nil {
			skip, size, ok, err = r.json.frame(data, r.limit)
		} else if len(data) >= lengthSize {
			announced := uint64(binary.BigEndian.Uint32(data))
			if announced > uint64(r.limit) {
				return nil, tooLarge(announced, r.limit)
			}
			size = int(announced)
			if ok = len(data)-lengthSize >= size; ok {
				skip = lengthSize
			}
		}
		r.start += skip
		if ok {
			frame := r.buf[r.start : r.start+size : r.start+size]
			r.start += size
			return frame, nil
		}
		switch {
		case err != nil || !wait:
			return nil, err
		case r.err != nil:
			return nil, r.broken(r.err)
		case empty == emptyReads:
			r.err = io.ErrNoProgress
			continue
		}
		if r.start == r.end {
			r.start, r.end = 0, 0
		}
		if r.end == len(r.buf) || r.end == 0 && len(r.buf) > bufferKeep {
			r.makeRoom()
		}
		n, err := r.from.Read(r.buf[r.end:])
		r.end, r.err = r.end+n, err
		empty++
		if n > 0 {
			empty = 0
		}
	}
}

// makeRoom moves what has not been delivered to the front of the buffer, or of another one of a size that fits it.
func (r *Reader) makeRoom() {
	pending := r.buf[r.start:r.end]
	switch {
	case len(pending) == 0:
		r.buf = make([]byte, bufferSize)
	case len(pending) > len(r.buf)/2:
		grown := make([]byte, 2*len(r.buf))
		copy(grown, pending)
		r.buf = grown
	default:
		copy(r.buf, pending)
	}
	r.start, r.end = 0, len(pending)
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
