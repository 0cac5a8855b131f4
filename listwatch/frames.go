package listwatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrFrameTooLarge ends a stream whose next frame exceeds Options.MaxFrameSize. A watch resumed before that event meets
// it again: list instead.
var ErrFrameTooLarge = errors.New("watch frame exceeds the limit")

const (
	defaultMaxFrameSize = 16 << 20
	frameBufferSize     = 8 << 10
	// A buffer that one big frame has grown beyond this is given back afterwards.
	frameBufferKeep = 256 << 10
)

// frameReader cuts a byte stream into frames.
type frameReader interface {
	// next blocks until a whole frame is there. The frame is valid until the call after. A clean end between two frames
	// is io.EOF.
	next() ([]byte, error)
	// cut is next without waiting: ok is false if the frame has not arrived whole. An error comes again.
	cut() (frame []byte, ok bool, err error)
}

// nextFrame is next in terms of cut.
func nextFrame(b *frameBuffer, cut func() ([]byte, bool, error)) ([]byte, error) {
	for {
		if frame, ok, err := cut(); ok || err != nil {
			return frame, err
		}
		if err := b.fill(); err != nil {
			return nil, b.broken(err)
		}
	}
}

// frameBuffer holds the bytes that have arrived but are not delivered yet: buf[start:end].
type frameBuffer struct {
	r     io.Reader
	buf   []byte
	start int
	end   int
	limit int   // bytes a frame may have
	err   error // of r, once it failed; bytes that came with it are delivered first
}

func newFrameBuffer(r io.Reader, limit int) frameBuffer {
	return frameBuffer{r: r, limit: limit}
}

func (b *frameBuffer) pending() []byte { return b.buf[b.start:b.end] }

// take delivers the next n bytes.
func (b *frameBuffer) take(n int) []byte {
	taken := b.buf[b.start : b.start+n : b.start+n]
	b.start += n
	return taken
}

// fill reads once, after making room; it invalidates what take returned.
func (b *frameBuffer) fill() error {
	if b.err != nil {
		return b.err
	}
	b.makeRoom()
	for range 100 {
		n, err := b.r.Read(b.buf[b.end:])
		b.end += n
		b.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	b.err = io.ErrNoProgress
	return b.err
}

func (b *frameBuffer) makeRoom() {
	pending := b.end - b.start
	switch {
	case pending == 0 && (b.buf == nil || cap(b.buf) > frameBufferKeep):
		b.buf = make([]byte, frameBufferSize)
	case pending > len(b.buf)/2:
		grown := make([]byte, 2*len(b.buf))
		copy(grown, b.pending())
		b.buf = grown
	case b.start > 0:
		copy(b.buf, b.pending())
	default:
		return
	}
	b.start, b.end = 0, pending
}

// broken explains why a frame could not be read: the end of the stream is clean only between frames.
func (b *frameBuffer) broken(err error) error {
	pending := b.end - b.start
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

func (b *frameBuffer) tooLarge(size uint64) error {
	return fmt.Errorf("%w: at least %d bytes, limit %d", ErrFrameTooLarge, size, b.limit)
}

// lengthFrames reads frames that are preceded by their length: four bytes, big endian.
type lengthFrames struct {
	frameBuffer
}

func (f *lengthFrames) next() ([]byte, error) { return nextFrame(&f.frameBuffer, f.cut) }

func (f *lengthFrames) cut() (frame []byte, ok bool, err error) {
	const header = 4
	pending := f.pending()
	if len(pending) < header {
		return nil, false, nil
	}
	size := binary.BigEndian.Uint32(pending)
	if uint64(size) > uint64(f.limit) {
		return nil, false, f.tooLarge(uint64(size))
	}
	if len(pending)-header < int(size) {
		return nil, false, nil
	}
	f.take(header)
	return f.take(int(size)), true, nil
}

// jsonFrames reads JSON objects that follow each other, with or without white space between them.
type jsonFrames struct {
	frameBuffer
	scanner jsonScanner
	scanned int // bytes of pending() that the scanner has seen
}

func (f *jsonFrames) next() ([]byte, error) { return nextFrame(&f.frameBuffer, f.cut) }

func (f *jsonFrames) cut() (frame []byte, ok bool, err error) {
	if f.scanned == 0 {
		f.skipSpace()
	}
	pending := f.pending()
	if len(pending) == 0 {
		return nil, false, nil
	}
	if pending[0] != '{' {
		return nil, false, fmt.Errorf("watch stream has %.20q where a JSON object must start", pending)
	}
	done := false
	if f.scanned <= f.limit { // else the error comes again
		var n int
		n, done = f.scanner.scan(pending[f.scanned:])
		f.scanned += n
	}
	if f.scanned > f.limit {
		return nil, false, f.tooLarge(uint64(f.scanned))
	}
	if !done {
		return nil, false, nil
	}
	frame = f.take(f.scanned)
	f.scanner, f.scanned = jsonScanner{}, 0
	return frame, true, nil
}

func (f *jsonFrames) skipSpace() {
	for f.start < f.end && isJSONSpace(f.buf[f.start]) {
		f.start++
	}
}
