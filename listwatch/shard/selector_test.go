package shard_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/listwatch/shard"
)

const (
	lower = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	upper = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
	all   = "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')"
)

func TestParse_TakesTheServersSyntax(t *testing.T) {
	for text, canonical := range map[string]string{
		"":                     "",
		lower:                  lower,
		upper:                  upper,
		upper + "||" + lower:   all,
		lower + " || " + upper: all,
		" shardRange (object.metadata.uid\t,'0x0000000000000000','0x8000000000000000' ) ": lower,
		strings.ReplaceAll(lower, "uid", "namespace"):                                     strings.ReplaceAll(lower, "uid", "namespace"),
	} {
		parsed, err := shard.Parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, canonical, parsed.String(), text)
	}
}

// Each error names what to do: the server's answer to the same is a 500.
func TestParse_RefusesWithAnErrorThatSaysWhatToDo(t *testing.T) {
	for _, tc := range []struct{ text, wants string }{
		{" ", "write shardRange(object.metadata.uid,"},
		{"false", "write shardRange(object.metadata.uid,"},
		{"shardRange()", "write shardRange(object.metadata.uid,"},
		{lower + " || ", "write shardRange(object.metadata.uid,"},
		{lower + " && " + upper, "write shardRange(object.metadata.uid,"},
		{strings.ReplaceAll(lower, "uid", "name"), "the field must be object.metadata.uid or object.metadata.namespace"},
		{strings.ReplaceAll(lower, "0x8000000000000000", "0x8"), "all bounds have 16 digits"},
		{strings.ReplaceAll(lower, "0x8000000000000000", "0x800000000000000A"), "all bounds have 16 digits"},
		{strings.ReplaceAll(lower, "0x8000000000000000", "0x20000000000000000"), "all bounds have 16 digits"},
		{strings.ReplaceAll(lower, "0x8000000000000000", "0x0000000000000000"), "its start must be below its end"},
		{strings.ReplaceAll(lower, "0x0000000000000000", "0x10000000000000000"), "all bounds have 16 digits"},
		{lower + " || " + strings.ReplaceAll(upper, "uid", "namespace"), "use one field in all ranges"},
		{lower + " || " + lower, "end the first where the second starts"},
		{strings.ReplaceAll(lower, "0x8000000000000000", "0x8000000000000001") + " || " + upper, "end the first where the second starts"},
		{all + " || " + upper, "end the first where the second starts"},
	} {
		got, err := shard.Parse(tc.text)
		assert.ErrorContains(t, err, tc.wants, tc.text)
		assert.True(t, got.Everything(), tc.text)
	}
}

// A member that holds no shard must not get the whole cluster.
func TestSelector_NothingIsNotEverything(t *testing.T) {
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", UID: "1"}}
	nothing := shard.Selector{Field: shard.UID}
	assert.False(t, nothing.Matches(object))
	_, err := shard.Parse(nothing.String())
	assert.Error(t, err)
	assert.True(t, shard.Selector{}.Matches(object))
	assert.Empty(t, shard.Selector{}.String())
	assert.False(t, shard.Selector{Field: "object.metadata.name", Ranges: shard.Merge(shard.Range{First: 1, Last: 9})}.Matches(object))
}

// FuzzParse holds what Parse accepts against apimachinery's Selector, made of the same bounds.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", lower, upper + "||" + lower, lower + " || " + lower, `shardRange ( object.metadata.namespace, '0x00000000000000aa','0x00000000000000ab')`,
	} {
		f.Add(text, "shop")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		parsed, err := shard.Parse(text)
		if err != nil || parsed.Everything() {
			require.True(t, parsed.Everything())
			return
		}
		again, err := shard.Parse(parsed.String())
		require.NoError(t, err)
		require.Equal(t, parsed, again)

		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: value, UID: types.UID(value)}}
		var theirs []sharding.ShardRangeRequirement
		for part := range strings.SplitSeq(text, "||") { // theirs, unlike ours, is not sorted and merged
			words := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \t\n\f\r\v(),'\"", r) })
			require.Len(t, words, 4, text)
			theirs = append(theirs, sharding.ShardRangeRequirement{Key: words[1], Start: words[2], End: words[3]})
		}
		want, err := sharding.NewSelector(theirs...).Matches(object)
		require.NoError(t, err)
		require.Equal(t, want, parsed.Matches(object), "%s of %q", text, value)
	})
}

func ExampleParse() {
	half, err := shard.Parse("shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')")
	fmt.Println(half.Ranges[0].Last == math.MaxUint64/2, err)
	_, err = shard.Parse("shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')")
	fmt.Println(err)
	// Output:
	// true <nil>
	// shard selector: "shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')": the field must be object.metadata.uid or object.metadata.namespace
}
