package deltafifo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPending_DeltaFIFOCopiesEachKeysDeltasInTheOrderOfThePops(t *testing.T) {
	f := newFIFO(storeOf(v("c", 1)))
	assert.Empty(t, f.Pending())
	require.NoError(t, f.Add(v("a", 1)))
	require.NoError(t, f.Add(v("b", 1)))
	require.NoError(t, f.Update(v("a", 2)))
	require.NoError(t, f.DeleteKey("c"))
	seen := f.Pending()
	assert.Equal(t, "Added a(a@1) Updated a(a@2) Added b(b@1) Deleted c(c@1) unknown", show(seen))
	seen[0].Key = "changed"
	require.NoError(t, f.Pop(ignoreDeltas))
	assert.Equal(t, "Added b(b@1) Deleted c(c@1) unknown", show(f.Pending()))
}

func TestPending_InOrderCopiesWhatWaitsButNotWhatIsProcessed(t *testing.T) {
	q := newQueue(2)
	assert.Empty(t, q.Pending())
	for i, name := range []string{"a", "b", "c"} {
		require.NoError(t, q.Add(v(name, i)))
	}
	assert.Equal(t, "Added a(a@0) Added b(b@1) Added c(c@2)", show(q.Pending()))
	require.NoError(t, q.PopBatch(func(batch []delta, _ bool) error {
		require.NoError(t, q.Update(v("a", 3)))
		seen := q.Pending()
		assert.Equal(t, "Added c(c@2) Updated a(a@3)", show(seen))
		seen[0].Key = "changed"
		return nil
	}))
	assert.Equal(t, []string{"Added c(c@2) Updated a(a@3)"}, batchesJoined(t, q))
}

// batchesJoined is batches, as one line.
func batchesJoined(t *testing.T, q *queue) (lines []string) {
	t.Helper()
	for _, line := range batches(t, q) {
		if len(lines) == 0 {
			lines = append(lines, line)
		} else {
			lines[0] += " " + line
		}
	}
	return lines
}
