package wire

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
)

// requireOpenedLikeTheirs: an envelope is read if the generated code reads it, and then it holds the same.
func requireOpenedLikeTheirs(t require.TestingT, message []byte) {
	var theirs runtime.Unknown
	theirErr := theirs.Unmarshal(message)
	object, err := openProtobuf(slices.Concat([]byte(protobufPrefix), message))
	if theirErr != nil || theirs.ContentEncoding != "" {
		return // ours heeds less of what it has no use for
	}
	if err != nil && !wellFormed(message) {
		return
	}
	require.NoError(t, err, "% x", message)
	require.True(t, slices.Equal(theirs.Raw, object.bytes), "% x", message)
	require.Equal(t, theirs.APIVersion, object.APIVersion, "% x", message)
	require.Equal(t, theirs.Kind, object.Kind, "% x", message)
}

// wellFormed: no number, field number or group is one that the specification rules out.
func wellFormed(message []byte) bool {
	for len(message) > 0 {
		number, wireType, n := protowire.ConsumeField(message)
		if n < 0 {
			return false
		}
		if number == fieldUnknownTypeMeta && wireType == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(message)
			if value, n := protowire.ConsumeBytes(message[tag:]); n < 0 || !wellFormed(value) {
				return false
			}
		}
		message = message[n:]
	}
	return true
}

func TestOpenProtobuf_ReadsWhatTheGeneratedCodeReads(t *testing.T) {
	raw := []byte{fieldUnknownRaw<<3 | byte(protowire.BytesType), 1, 'x'}
	for name, odd := range map[string][]byte{
		"nothing":               {},
		"an unknown number":     {9<<3 | byte(protowire.VarintType), 0xff, 1},
		"a number of ten bytes": {9<<3 | byte(protowire.VarintType), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"eight bytes":           {9<<3 | byte(protowire.Fixed64Type), 1, 2, 3, 4, 5, 6, 7, 8},
		"four bytes":            {9<<3 | byte(protowire.Fixed32Type), 1, 2, 3, 4},
		"an empty group":        {9<<3 | byte(protowire.StartGroupType), 9<<3 | byte(protowire.EndGroupType)},
		"a group in a group":    {9<<3 | byte(protowire.StartGroupType), 8<<3 | byte(protowire.StartGroupType), 1<<3 | byte(protowire.BytesType), 1, 0, 8<<3 | byte(protowire.EndGroupType), 1<<3 | byte(protowire.EndGroupType)},
		"a length in two bytes": {9<<3 | byte(protowire.BytesType), 0x81, 0, 7},
	} {
		t.Run(name, func(t *testing.T) {
			for _, message := range [][]byte{slices.Concat(odd, raw), slices.Concat(raw, odd)} {
				require.NoError(t, new(runtime.Unknown).Unmarshal(message), "the case is good for nothing")
				requireOpenedLikeTheirs(t, message)
			}
		})
	}
}

func TestOpenProtobuf_ReadsWhatTheGeneratedCodeReads_Random(t *testing.T) {
	piece := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) []byte {
			number := rapid.OneOf(rapid.Uint64Range(0, 6), rapid.Uint64()).Draw(t, "number")
			return binary.AppendUvarint(nil, number<<3|rapid.Uint64Range(0, 7).Draw(t, "wire type"))
		}),
		rapid.SliceOfN(rapid.Byte(), 0, 9),
		rapid.Custom(func(t *rapid.T) []byte {
			return append(binary.AppendUvarint(nil, rapid.Uint64Range(1, 3).Draw(t, "number")<<3|uint64(protowire.BytesType)), 3, 1<<3|byte(protowire.BytesType), 1, 'v')
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		requireOpenedLikeTheirs(t, slices.Concat(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces")...))
	})
}
