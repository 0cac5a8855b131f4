package mutants

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlaces_AreTokensOfOneFunction(t *testing.T) {
	const text = "package p\n\nfunc (q *Queue[T]) Add(n int) {\n\tif n > 1 && // why\n\t\tn < 9 {\n\t\tq.add(n)\n\t}\n}\n\nfunc Add(n int) { add(n) }\n"
	for _, c := range []struct {
		function, before string
		times            int
	}{
		{"Queue.Add", "n > 1 && n < 9", 1}, {"Queue.Add", "n>1&&\nn<9", 1}, {"Queue.Add", "n > 1 || n < 9", 0}, {"Queue.Add", "add(n)", 1},
		{"Add", "add(n)", 1}, {"Add", "n > 1", 0}, {everything, "add(n)", 2}, {"Gone", "add(n)", 0}, {"Add", "", 0},
	} {
		require.Len(t, Mutant{function: c.function, before: c.before}.places(text), c.times, "%s: %s", c.function, c.before)
	}
}
