package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/framer"
	"k8s.io/apimachinery/pkg/watch"
	kjson "sigs.k8s.io/json"
)

// The fuzz targets of this package feed the wire's bytes to our decoders and to those of apimachinery, and compare.

// fuzzLimit is what a frame may have in these tests.
const fuzzLimit = 1 << 16

// requireBounded: memory is spent on bytes that have come, whatever length is announced.
func requireBounded(t *testing.T, b *Reader, came int) {
	require.LessOrEqual(t, cap(b.buf), max(bufferSize, 4*came), "for %d bytes", came)
}

// requireExplained: who reads the error knows what was wanted, and what came instead.
func requireExplained(t *testing.T, err error) {
	text := err.Error()
	switch {
	case err == io.EOF:
	case errors.Is(err, io.ErrUnexpectedEOF):
		require.Regexp(t, `ended within a frame, after [1-9]\d* of its bytes`, text)
	case errors.Is(err, ErrFrameTooLarge):
		require.Regexp(t, `at least \d+ bytes, limit \d+`, text)
	default:
		require.Contains(t, text, "where a JSON object must start")
	}
}

// FuzzJSONFrames holds the frame reader against encoding/json: of a stream that it accepts, both make the same frames.
func FuzzJSONFrames(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"name":"x"}}}`+"\n"+`{"type":"BOOKMARK","object":{}}`), 3)
	f.Add([]byte(`{"a":"}\"{"}{}`), 1)
	f.Add([]byte(`{"a":[{},"]"]} x`), 2)
	f.Add([]byte(`{"a":"\u00e9\\"}  {"b":`), 7)
	f.Add([]byte("{]"), 1)
	f.Add([]byte(`{"type":"ERROR","object":{"kind":"Status","code":410}}`), 64)
	f.Add([]byte(strings.Repeat(`{"a":`, 300)), 100)
	f.Add([]byte(`{"a":"`+strings.Repeat("x", fuzzLimit)+`"}{}`), 511)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		frames := jsonReader(&chunks{data: data, sizes: []int{max(1, size%512)}}, fuzzLimit)
		defer func() { requireBounded(t, frames, len(data)) }()
		decoder := json.NewDecoder(bytes.NewReader(data))
		for {
			var want json.RawMessage
			wantErr := decoder.Decode(&want)
			got, err := frames.Next(true)
			if err != nil {
				requireExplained(t, err)
			} else {
				exerciseEvent(asJSON, got)
			}
			switch {
			case wantErr == nil && want[0] != '{': // a watch has objects only
				require.ErrorContains(t, err, "where a JSON object must start")
				return
			case wantErr == nil && len(want) > fuzzLimit:
				require.ErrorIs(t, err, ErrFrameTooLarge)
				return
			case wantErr == nil:
				require.NoError(t, err)
				require.Equal(t, string(want), string(got))
				continue
			case wantErr == io.EOF:
				require.Equal(t, io.EOF, err)
			case err == nil:
				require.False(t, json.Valid(got), "%q", got)
			default:
				require.NotEqual(t, io.EOF, err, "what is no JSON is no clean end")
			}
			return
		}
	})
}

// FuzzLengthFrames holds the frame reader against the one of apimachinery.
func FuzzLengthFrames(f *testing.F) {
	event := encodeEvent(f, protoType, watch.Added, serviceV1("cart", "5"))
	f.Add(slices.Concat(event, event), 3)
	f.Add(event[:len(event)-1], 100)
	f.Add([]byte{0, 0, 0, 0}, 1)
	f.Add([]byte{0, 0, 0, 1, 'x', 0, 0, 0}, 2)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, 4)
	f.Add(lengthPrefixed([]byte("\x0a\x05ADDED\x12\x06\x0a\x04k8s\x00")), 4)
	f.Add([]byte{0x00, 0x01, 0x00, 0x00, 'x'}, 5)
	f.Add(slices.Concat(event, []byte{0xff, 0xff, 0xff, 0xff}, event), 511)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		frames := lengthReader(&chunks{data: data, sizes: []int{max(1, size%512)}}, fuzzLimit)
		defer func() { requireBounded(t, frames, len(data)) }()
		theirs := framer.NewLengthDelimitedFrameReader(io.NopCloser(bytes.NewReader(data)))
		buf := make([]byte, fuzzLimit)
		for rest := data; ; {
			got, err := frames.Next(true)
			if err != nil {
				requireExplained(t, err)
			}
			if len(rest) >= 4 && binary.BigEndian.Uint32(rest) > fuzzLimit { // theirs has no limit
				require.ErrorIs(t, err, ErrFrameTooLarge)
				return
			}
			if len(rest) >= 4 && binary.BigEndian.Uint32(rest) == 0 { // theirs takes an empty frame for none
				require.NoError(t, err)
				require.Empty(t, got)
				return
			}
			n, wantErr := theirs.Read(buf)
			if wantErr != nil {
				require.Error(t, err)
				require.Equal(t, len(rest) == 0, err == io.EOF)
				return
			}
			require.NoError(t, err)
			require.Equal(t, buf[:n], got)
			rest = rest[4+n:]
			exerciseEvent(asProtobuf, got)
		}
	})
}

// FuzzMetadata holds what is read without decoding against the decoded object, and in JSON against a map as well. An
// object that has a name and no field twice is read. The decoder also takes bytes that are no protobuf, such as a field
// number of 2³² and more: of these it need not be read, and not as the decoder does.
func FuzzMetadata(f *testing.F) {
	for _, name := range []string{"a", "ü", "\"\\"} {
		obj := serviceV1(name, "5")
		obj.UID = "11f0c5a5-6d5c-4a3f-9a51-1d8f7dc6b01e"
		f.Add(encode(f, "application/json", obj))
		bare, err := obj.Marshal()
		require.NoError(f, err)
		f.Add(bare)
	}
	f.Add([]byte(`{"metadata":{"uid":"a","uid":"b"},"metadata":{"namespace":"n"},"Metadata":{"uid":"c"}}`))
	f.Add([]byte(`{"metadata":{"name":"a","uid":"a"},"metadata":{"name":"b"}}`))
	f.Add([]byte(`{"metadata":{"name":"a","uid":"a","uid":null}}`))
	f.Add([]byte(`{"metadata":{"uid":null,"namespace":"\u0061\ud800"}}`))
	f.Add([]byte(`{"metadata":{"uid":"a"}}`))
	f.Add([]byte("\x0a\x03\x2a\x01x\x0a\x03\x2a\x01y")) // a UID twice
	f.Add([]byte("\x0a\x02\x28\x07"))                   // a UID that is a number
	f.Add([]byte("\xff\xff\xff\x0a\x03\x0a\x01x"))      // broken in front of the metadata
	// A field whose number is beyond those of protobuf.
	f.Add(slices.Concat([]byte("\x0a\x0a\x0a\x01x"), protowire.AppendVarint(nil, 1<<35|100<<3), []byte{'y'}))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, isJSON := range []bool{true, false} {
			object := Object{isJSON: isJSON, bytes: data}
			meta, ok := object.Metadata()
			read := [...]string{meta.Namespace, meta.Name, string(meta.UID), meta.ResourceVersion}
			var want metav1.PartialObjectMetadata
			err := object.Decode(&want, nil)
			var asMap unstructured.Unstructured
			var twice []error
			if isJSON && err == nil {
				require.NoError(t, object.Decode(&asMap.Object, nil))
				twice, err = kjson.UnmarshalStrict(data, &map[string]any{}, kjson.DisallowDuplicateFields)
			}
			if ok {
				require.NotEmpty(t, meta.Name, "%q", data)
			}
			if err != nil || !isJSON && !isProtobuf(data) {
				continue
			}
			if !ok {
				require.True(t, want.Name == "" || len(twice) > 0, "%q", data)
				continue
			}
			require.Equal(t, [...]string{want.Namespace, want.Name, string(want.UID), want.ResourceVersion}, read, "%q", data)
			if isJSON {
				require.Equal(t, [...]string{asMap.GetNamespace(), asMap.GetName(), string(asMap.GetUID()), asMap.GetResourceVersion()}, read, "%q", data)
			}
		}
	})
}

// isProtobuf tells whether an object and its metadata have fields and nothing else.
func isProtobuf(object []byte) bool {
	for len(object) > 0 {
		number, wireType, n := protowire.ConsumeField(object)
		if n < 0 {
			return false
		}
		if number == fieldObjectMeta && wireType == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(object)
			meta, _ := protowire.ConsumeBytes(object[tag:])
			for len(meta) > 0 {
				_, _, n := protowire.ConsumeField(meta)
				if n < 0 {
					return false
				}
				meta = meta[n:]
			}
		}
		object = object[n:]
	}
	return true
}

// exerciseEvent decodes a frame every way there is; it must not panic, whatever is in it.
func exerciseEvent(format Format, frame []byte) {
	if _, object, err := format.Event(frame); err == nil {
		_ = object.Decode(&metav1.PartialObjectMetadata{}, nil)
		_, _ = object.statusError()
		_, _ = object.Key()
	}
	_, _ = format.List(frame)
	_ = statusIn(frame)
}
