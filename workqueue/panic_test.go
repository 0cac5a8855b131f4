package workqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// panicsAtAdded panics at the second item that becomes due.
type panicsAtAdded struct{ added int }

func (m *panicsAtAdded) Added() {
	m.added++
	if m.added == 2 {
		panic("metrics")
	}
}
func (*panicsAtAdded) Taken(time.Duration)                     {}
func (*panicsAtAdded) Finished(time.Duration)                  {}
func (*panicsAtAdded) Unfinished(time.Duration, time.Duration) {}
func (*panicsAtAdded) Retried()                                {}

func TestAdd_APanicOfTheMetricsLeavesTheQueueAsItIs(t *testing.T) {
	q := New(Options[string]{Metrics: &panicsAtAdded{}})
	q.Add("a")
	q.Get()
	require.PanicsWithValue(t, "metrics", func() { q.Add("a") })
	q.Done("a")
	item, shutdown := q.Get()
	require.Equal(t, "a", item, "it became due while it was being processed")
	require.False(t, shutdown)
	q.ShutDown()
}
