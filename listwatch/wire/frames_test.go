package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// chunks delivers a stream in pieces of given sizes, as a network may.
type chunks struct {
	data  []byte
	sizes []int
	fails error // after the last byte; nil is io.EOF
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		if c.fails != nil {
			return 0, c.fails
		}
		return 0, io.EOF
	}
	n := min(len(p), len(c.data))
	if len(c.sizes) > 0 {
		n = min(n, c.sizes[0])
		c.sizes = append(c.sizes[1:], c.sizes[0])
	}
	copy(p, c.data[:n])
	c.data = c.data[n:]
	return n, nil
}

func jsonReader(from io.Reader, limit int) *Reader   { return NewReader(from, asJSON, limit) }
func lengthReader(from io.Reader, limit int) *Reader { return NewReader(from, asProtobuf, limit) }

// readAll pulls frames until the first error.
func readAll(frames *Reader) (got []string, err error) {
	for {
		var frame []byte
		if frame, err = frames.Next(false); frame == nil && err == nil {
			frame, err = frames.Next(true)
		}
		if err != nil {
			return got, err
		}
		got = append(got, string(frame))
	}
}

// However a stream is cut into pieces, and whatever is in its frames, the frames come out as they went in.
func TestFrames_ComeOutAsTheyWentIn(t *testing.T) {
	value := rapid.OneOf(rapid.StringMatching(`[ -~]{0,40}`), rapid.SampledFrom([]string{"{", "}", `"`, `\`, `\"`, "[", "\u00fc\n", strings.Repeat("long ", 5000)}))
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(value, 0, 8).Draw(t, "values")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9000), 1, 4).Draw(t, "sizes")
		space := rapid.SampledFrom([]string{"", "\n", " \r\n\t"}).Draw(t, "space")
		var jsonStream, lengthStream []byte
		var jsonWant, lengthWant []string
		for _, v := range values {
			frame, err := json.Marshal(map[string]any{"a": v, v: []any{v, 1, nil}})
			require.NoError(t, err)
			jsonStream = append(append(jsonStream, space...), frame...)
			jsonWant = append(jsonWant, string(frame))
			lengthStream = append(lengthStream, lengthPrefixed([]byte(v))...)
			lengthWant = append(lengthWant, v)
		}
		jsonStream = append(jsonStream, space...)
		got, err := readAll(jsonReader(&chunks{data: jsonStream, sizes: sizes}, 1<<20))
		assert.Equal(t, io.EOF, err)
		assert.Equal(t, jsonWant, got)
		got, err = readAll(lengthReader(&chunks{data: lengthStream, sizes: slices.Clone(sizes)}, 1<<20))
		assert.Equal(t, io.EOF, err)
		assert.Equal(t, lengthWant, got)
	})
}

func TestFrames_LimitIsInclusive(t *testing.T) {
	const limit = 64 << 10 // several times the buffer
	object := []byte(`{"a":"` + strings.Repeat("x", limit-8) + `"}`)
	for _, tc := range []struct {
		name   string
		format Format
		frame  func([]byte) []byte
	}{
		{"JSON", asJSON, func(b []byte) []byte { return b }},
		{"length", asProtobuf, lengthPrefixed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := readAll(NewReader(bytes.NewReader(tc.frame(object)), tc.format, limit))
			assert.Equal(t, io.EOF, err)
			assert.Equal(t, []string{string(object)}, got)
			_, err = readAll(NewReader(bytes.NewReader(tc.frame(object)), tc.format, limit-1))
			assert.ErrorIs(t, err, ErrFrameTooLarge)
		})
	}
}

// A length is a claim: memory is spent on bytes that have come, not on those announced.
func TestFrames_AnnouncedLengthAllocatesNothing(t *testing.T) {
	frames := lengthReader(bytes.NewReader([]byte{0, 0xff, 0xff, 0xff, 1}), 16<<20)
	_, err := frames.Next(true)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.LessOrEqual(t, cap(frames.buf), bufferSize)
}

// One big frame must not pin its buffer for the life of the watch.
func TestFrames_BigBufferIsGivenBack(t *testing.T) {
	big := lengthPrefixed(make([]byte, 2*bufferKeep))
	small := lengthPrefixed([]byte("small"))
	frames := lengthReader(io.MultiReader(bytes.NewReader(big), bytes.NewReader(small)), 16<<20)
	_, err := frames.Next(true)
	require.NoError(t, err)
	assert.Greater(t, cap(frames.buf), bufferKeep)
	_, err = frames.Next(true)
	require.NoError(t, err)
	assert.Equal(t, bufferSize, cap(frames.buf))
}

func TestFrames_ReadErrors(t *testing.T) {
	cause := errors.New("cable cut")
	_, err := readAll(jsonReader(&chunks{data: []byte(`{"a":1} {"b"`), fails: cause}, 100))
	assert.ErrorIs(t, err, cause)
	assert.EqualError(t, err, "watch stream broke within a frame, after 4 of its bytes: cable cut")
	_, err = readAll(lengthReader(iotest.ErrReader(cause), 100))
	assert.EqualError(t, err, "watch stream broke between two frames: cable cut")

	// Bytes that come together with the error count.
	got, err := readAll(jsonReader(iotest.DataErrReader(strings.NewReader(`{"a":1}`)), 100))
	assert.Equal(t, io.EOF, err)
	assert.Equal(t, []string{`{"a":1}`}, got)

	// A reader that neither delivers nor fails must not spin for ever.
	_, err = readAll(jsonReader(stuckReader{}, 100))
	assert.ErrorIs(t, err, io.ErrNoProgress)
}

type stuckReader struct{}

func (stuckReader) Read([]byte) (int, error) { return 0, nil }

func TestProtobuf_TellsFieldsWithoutALengthApart(t *testing.T) {
	message := []byte{1 << 3, 0x96, 1, 2<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8, 3<<3 | 5, 1, 2, 3, 4, 4<<3 | 2, 2, 'o', 'k'}
	var got []string
	visit := func(field protowire.Number, value []byte) error {
		got = append(got, fmt.Sprintf("%d=%s", field, value))
		return nil
	}
	require.NoError(t, eachField(message, visit))
	assert.Equal(t, []string{"-1=", "-2=", "-3=", "4=ok"}, got)
	for end := range message {
		err := eachField(message[:end], visit)
		whole := end == 0 || end == 3 || end == 12 || end == 17
		assert.Equal(t, whole, err == nil, "%d bytes: %v", end, err)
	}
	assert.Error(t, eachField([]byte{1<<3 | 6}, visit))
	assert.Error(t, eachField([]byte{1<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, visit))
}

// A frame that is too large is so again, whatever follows it in the buffer.
func TestFrames_TooLargeIsTooLargeAgain(t *testing.T) {
	for name, frames := range map[string]*Reader{
		"json":   jsonReader(strings.NewReader(`{"a":"long"}{"b":"longer still"}`), 8),
		"length": lengthReader(bytes.NewReader(append(lengthPrefixed(make([]byte, 12)), make([]byte, 40)...)), 8),
	} {
		_, first := frames.Next(true)
		require.ErrorIs(t, first, ErrFrameTooLarge, name)
		_, withoutWaiting := frames.Next(false)
		require.Equal(t, first, withoutWaiting, name)
		_, again := frames.Next(true)
		require.Equal(t, first, again, name)
	}
}

func TestReader_AFrameAtTheEndOfTheBufferIsMoved(t *testing.T) {
	var stream strings.Builder
	for n := range 30000 { // dozens of buffers, whose ends cut frames in different places
		fmt.Fprintf(&stream, `{"n":%d}`, n)
	}
	r := NewReader(strings.NewReader(stream.String()), asJSON, 100)
	for n := range 30000 {
		frame, err := r.Next(true)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf(`{"n":%d}`, n), string(frame))
	}
}
