package indexer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStore_ReplaceKeyedAsksNoKeyFunc(t *testing.T) {
	s := New(Options[string, int]{Indexers: Indexers[int]{"parity": func(n int, dst []string) ([]string, error) {
		return append(dst, []string{"even", "odd"}[n%2]), nil
	}}})
	s.Apply([]Op[string, int]{{Key: "gone", Obj: 9}}, "1")
	s.ReplaceKeyed([]string{"a", "b", "a"}, []int{1, 2, 3}, "2")
	require.Equal(t, 2, s.Len(), "of objects with the same key the last counts")
	n, ok := s.GetByKey("a")
	require.True(t, ok)
	require.Equal(t, 3, n)
	odd, err := s.ByIndex("parity", "odd")
	require.NoError(t, err)
	require.Equal(t, []int{3}, odd)
	require.Equal(t, "2", s.ResourceVersion())
	checkInvariants(t, s)
}
