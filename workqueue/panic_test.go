package workqueue

import (
	"testing"
	"testing/synctest"
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

// A worker finds by itself that an item has become due, and tells the metrics of it before it waits.
func TestGet_APanicOfTheMetricsLeavesTheQueueAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{Metrics: &panicsAtAdded{}})
		q.Add("a")
		q.Get()
		q.AddAfter("a", time.Second)
		q.mu.Lock()
		q.stopTimerLocked() // so that Get finds it, not the timer
		q.mu.Unlock()
		time.Sleep(2 * time.Second)
		require.PanicsWithValue(t, "metrics", func() { q.Get() })
		q.Done("a")
		item, shutdown := q.Get()
		require.Equal(t, "a", item, "it became due while it was being processed")
		require.False(t, shutdown)
		q.ShutDown()
	})
}
