package listwatch

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

// readAll pulls frames until the first error.
func readAll(frames frameReader) (got []string, err error) {
	for {
		frame, ok, err := frames.cut()
		if !ok && err == nil {
			frame, err = frames.next()
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
		got, err := readAll(jsonFormat{}.frames(&chunks{data: jsonStream, sizes: sizes}, 1<<20))
		assert.Equal(t, io.EOF, err)
		assert.Equal(t, jsonWant, got)
		got, err = readAll(protobufFormat{}.frames(&chunks{data: lengthStream, sizes: slices.Clone(sizes)}, 1<<20))
		assert.Equal(t, io.EOF, err)
		assert.Equal(t, lengthWant, got)
	})
}

func TestFrames_LimitIsInclusive(t *testing.T) {
	const limit = 64 << 10 // several times the buffer
	object := []byte(`{"a":"` + strings.Repeat("x", limit-8) + `"}`)
	for _, tc := range []struct {
		name   string
		format wireFormat
		frame  func([]byte) []byte
	}{
		{"JSON", jsonFormat{}, func(b []byte) []byte { return b }},
		{"length", protobufFormat{}, lengthPrefixed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := readAll(tc.format.frames(bytes.NewReader(tc.frame(object)), limit))
			assert.Equal(t, io.EOF, err)
			assert.Equal(t, []string{string(object)}, got)
			_, err = readAll(tc.format.frames(bytes.NewReader(tc.frame(object)), limit-1))
			assert.ErrorIs(t, err, ErrFrameTooLarge)
		})
	}
}

// A length is a claim: memory is spent on bytes that have come, not on those announced.
func TestFrames_AnnouncedLengthAllocatesNothing(t *testing.T) {
	frames := &lengthFrames{newFrameBuffer(bytes.NewReader([]byte{0, 0xff, 0xff, 0xff, 1}), 16<<20)}
	_, err := frames.next()
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.LessOrEqual(t, cap(frames.buf), frameBufferSize)
}

// One big frame must not pin its buffer for the life of the watch.
func TestFrames_BigBufferIsGivenBack(t *testing.T) {
	big := lengthPrefixed(make([]byte, 2*frameBufferKeep))
	small := lengthPrefixed([]byte("small"))
	frames := &lengthFrames{newFrameBuffer(io.MultiReader(bytes.NewReader(big), bytes.NewReader(small)), 16<<20)}
	_, err := frames.next()
	require.NoError(t, err)
	assert.Greater(t, cap(frames.buf), frameBufferKeep)
	_, err = frames.next()
	require.NoError(t, err)
	assert.Equal(t, frameBufferSize, cap(frames.buf))
}

func TestFrames_ReadErrors(t *testing.T) {
	cause := errors.New("cable cut")
	_, err := readAll(jsonFormat{}.frames(&chunks{data: []byte(`{"a":1} {"b"`), fails: cause}, 100))
	assert.ErrorIs(t, err, cause)
	assert.EqualError(t, err, "watch stream broke within a frame, after 4 of its bytes: cable cut")
	_, err = readAll(protobufFormat{}.frames(iotest.ErrReader(cause), 100))
	assert.EqualError(t, err, "watch stream broke between two frames: cable cut")

	// Bytes that come together with the error count.
	got, err := readAll(jsonFormat{}.frames(iotest.DataErrReader(strings.NewReader(`{"a":1}`)), 100))
	assert.Equal(t, io.EOF, err)
	assert.Equal(t, []string{`{"a":1}`}, got)

	// A reader that neither delivers nor fails must not spin for ever.
	_, err = readAll(jsonFormat{}.frames(stuckReader{}, 100))
	assert.ErrorIs(t, err, io.ErrNoProgress)
}

type stuckReader struct{}

func (stuckReader) Read([]byte) (int, error) { return 0, nil }

// The cursor is stricter than the scanner: what it accepts as members and elements, and only that, has the structure of
// JSON.
func TestJSONCursor_RefusesBadStructure(t *testing.T) {
	walk := func(object string) error {
		return eachJSON([]byte(object), func(string, []byte) {})
	}
	for _, good := range []string{`{}`, ` { } `, `{"a":1}`, `{"a":{},"b":[],"c":null , "d" : "x" }`, `{"\u0061":true}`} {
		assert.NoError(t, walk(good), good)
	}
	for _, bad := range []string{``, ` `, `[]`, `{`, `{,}`, `{"a":1,}`, `{"a":1,,"b":2}`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1}}`,
		`{"a":1 "b":2}`, `{"a" 1}`, `{a:1}`, `{"a`, `{"a":"`, `{"a":[}`, `{"\x":1}`, `{"a":1}x`, `{"a":tru`, `{"a"`, `{"a":1,`, `{"a" `} {
		assert.Error(t, walk(bad), bad)
		assert.False(t, bad[:min(1, len(bad))] == "{" && json.Valid([]byte(bad)), bad)
	}
	var names []string
	require.NoError(t, eachJSON([]byte(`{"\u0061b":1,"c":2}`), func(name string, _ []byte) { names = append(names, name) }))
	assert.Equal(t, []string{"ab", "c"}, names)
	for _, bad := range []string{`[1 2]`, `[,1]`, `[1,]`, `[1`, `[`, `["a`, `[1]]`} {
		_, err := jsonFormat{}.splitList(fmt.Appendf(nil, `{"items":%s}`, bad))
		assert.Error(t, err, bad)
	}
}

func TestProtobufCursor_SkipsWhatHasNoLength(t *testing.T) {
	message := []byte{1 << 3, 0x96, 1, 2<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8, 3<<3 | 5, 1, 2, 3, 4, 4<<3 | 2, 2, 'o', 'k'}
	var got []string
	visit := func(field uint64, value []byte) { got = append(got, fmt.Sprintf("%d=%s", field, value)) }
	require.NoError(t, eachProtobuf(message, visit))
	assert.Equal(t, []string{"4=ok"}, got)
	for end := range message {
		err := eachProtobuf(message[:end], func(uint64, []byte) {})
		whole := end == 0 || end == 3 || end == 12 || end == 17
		assert.Equal(t, whole, err == nil, "%d bytes: %v", end, err)
	}
	assert.ErrorContains(t, eachProtobuf([]byte{1<<3 | 6}, visit), "wire type 6")
	assert.Error(t, eachProtobuf([]byte{1<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, visit))
}

// A frame that is too large is so again, whatever follows it in the buffer.
func TestFrames_TooLargeIsTooLargeAgain(t *testing.T) {
	for name, frames := range map[string]frameReader{
		"json":   jsonFormat{}.frames(strings.NewReader(`{"a":"long"}{"b":"longer still"}`), 8),
		"length": protobufFormat{}.frames(bytes.NewReader(append(lengthPrefixed(make([]byte, 12)), make([]byte, 40)...)), 8),
	} {
		_, first := frames.next()
		require.ErrorIs(t, first, ErrFrameTooLarge, name)
		_, _, again := frames.cut()
		require.Equal(t, first, again, name)
	}
}
