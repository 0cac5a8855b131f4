package deltafifo

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// gauges writes down what a queue reports.
type gauges struct {
	queued []int
	took   []time.Duration
}

func (g *gauges) options() Options[string, string] {
	return Options[string, string]{
		KeyFunc: func(s string) (string, error) { return s, nil },
		Metrics: Metrics{
			Queued:    func(n int) { g.queued = append(g.queued, n) },
			Processed: func(took time.Duration) { g.took = append(g.took, took) },
		},
	}
}

func TestMetrics_InOrderCountsDeltasThatNobodyProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gauges{}
		q := NewInOrder(g.options())
		require.NoError(t, q.Add("a"))
		require.NoError(t, q.Add("b"))
		require.NoError(t, q.Update("a"))
		require.Equal(t, []int{1, 2, 3}, g.queued)
		require.NoError(t, q.PopBatch(func(batch []Delta[string, string], _ bool) error {
			require.Len(t, batch, 2)
			require.NoError(t, q.Add("c"))
			<-time.After(3 * time.Second)
			return nil
		}))
		require.Equal(t, []int{1, 2, 3, 1, 2}, g.queued)
		require.NoError(t, q.Bookmark("7"))
		require.NoError(t, q.Pop(func(Delta[string, string], bool) error { return nil }))
		require.Equal(t, []int{1, 2, 3, 1, 2, 3, 2}, g.queued)
		require.Equal(t, []time.Duration{3 * time.Second, 0}, g.took)
	})
}

func TestMetrics_DeltaFIFOCountsKeysThatNobodyProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gauges{}
		f := NewDeltaFIFO(g.options())
		require.NoError(t, f.Add("a"))
		require.NoError(t, f.Update("a"))
		require.NoError(t, f.Add("b"))
		require.Equal(t, []int{1, 2}, g.queued)
		wait := func() { <-time.After(time.Second) }
		require.NoError(t, f.Pop(func(string, []Delta[string, string], bool) error { wait(); return nil }))
		require.Equal(t, []int{1, 2, 1}, g.queued)
		require.Panics(t, func() {
			_ = f.PopBatch(func([]Delta[string, string], bool) error { wait(); panic("no") })
		})
		require.Equal(t, []int{1, 2, 1, 0}, g.queued)
		require.Equal(t, []time.Duration{time.Second, time.Second}, g.took)
	})
}

func TestDeltaFIFO_PopBatchIsPop(t *testing.T) {
	f := NewDeltaFIFO(Options[string, string]{KeyFunc: func(s string) (string, error) { return s, nil }})
	require.NoError(t, f.Replace([]string{"a", "b"}, nil, ""))
	require.NoError(t, f.Update("a"))
	var got []DeltaType
	take := func(ds []Delta[string, string], isInInitialList bool) error {
		require.True(t, isInInitialList)
		for _, d := range ds {
			got = append(got, d.Type)
		}
		return nil
	}
	require.NoError(t, f.PopBatch(take))
	require.Equal(t, []DeltaType{Replaced, Updated}, got)
	require.NoError(t, f.PopBatch(take))
	require.True(t, f.HasSynced())
	f.Close()
	require.ErrorIs(t, f.PopBatch(take), ErrClosed)
}
