package listwatch

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
)

// requireOpenedLikeTheirs: an envelope is read if the generated code reads it, and then it holds the same.
func requireOpenedLikeTheirs(t require.TestingT, message []byte) {
	var theirs runtime.Unknown
	theirErr := theirs.Unmarshal(message)
	tm, raw, err := openProtobuf(slices.Concat([]byte(protobufPrefix), message))
	if theirErr != nil || theirs.ContentEncoding != "" {
		return // ours heeds less of what it has no use for
	}
	require.NoError(t, err, "% x", message)
	require.True(t, slices.Equal(theirs.Raw, raw), "% x", message)
	require.Equal(t, theirs.APIVersion, string(tm.apiVersion), "% x", message)
	require.Equal(t, theirs.Kind, string(tm.kind), "% x", message)
}

func TestOpenProtobuf_ReadsWhatTheGeneratedCodeReads(t *testing.T) {
	raw := []byte{fieldUnknownRaw<<3 | wireBytes, 1, 'x'}
	longTag := append(binary.AppendUvarint(nil, 1<<35|fieldUnknownRaw<<3|wireBytes), 1, 'y') // a field number has 32 bits
	for name, odd := range map[string][]byte{
		"nothing":                  {},
		"an unknown number":        {9<<3 | wireVarint, 0xff, 1},
		"a number of ten bytes":    {9<<3 | wireVarint, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"eight bytes":              {9<<3 | wireFixed64, 1, 2, 3, 4, 5, 6, 7, 8},
		"four bytes":               {9<<3 | wireFixed32, 1, 2, 3, 4},
		"an empty group":           {9<<3 | wireStartGroup, 9<<3 | wireEndGroup},
		"a group in a group":       {9<<3 | wireStartGroup, 8<<3 | wireStartGroup, 1<<3 | wireBytes, 1, 0, 8<<3 | wireEndGroup, 1<<3 | wireEndGroup},
		"a field number too large": longTag,
		"a length in two bytes":    {9<<3 | wireBytes, 0x81, 0, 7},
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
			return append(binary.AppendUvarint(nil, rapid.Uint64Range(1, 3).Draw(t, "number")<<3|wireBytes), 3, 1<<3|wireBytes, 1, 'v')
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		requireOpenedLikeTheirs(t, slices.Concat(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces")...))
	})
}
