package mutants

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A require of the parent's ends the worker in which it fails, with whatever it still had to do.
func TestEach_ReturnsThoughTheParentFails(t *testing.T) {
	var bugs []Mutant
	for _, name := range []string{"a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/8", "a/9"} {
		bugs = append(bugs, Mutant{Name: name, File: "a/a.go"})
	}
	each := func(t *testing.T) {
		tryEach(t, bugs, func(_, parent *testing.T, _ Mutant) Verdict {
			parent.FailNow()
			return Red
		})
	}
	always := func(string, string) (bool, error) { return true, nil }
	require.False(t, testing.RunTests(always, []testing.InternalTest{{Name: "each", F: each}}))
}
