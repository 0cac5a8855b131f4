package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/extent"
)

// roll replaces all replicas, as a Deployment with maxSurge 1 and maxUnavailable 0 does: one that is ready takes the
// place of the oldest.
func (w *town) roll(mode string, args ...string) {
	w.Helper()
	for range w.replicas {
		added := w.start(mode, args...)
		for asked := time.Now(); added.ctl.Ready() != nil; w.live(time.Second) {
			require.Less(w, time.Since(asked), time.Minute, "the update does not get on: %v", added.ctl.Ready())
		}
		gone := w.replicas[0]
		w.replicas = w.replicas[1:]
		gone.stop()
		w.live(10 * time.Second)
		select {
		case <-gone.ended:
			require.NoError(w, gone.err)
		default:
			require.Fail(w, "it does not end", "%s", gone.mode)
		}
	}
	w.withdraw() // perhaps nobody is at work now
	w.live(time.Minute)
	<-time.After(time.Minute)
	w.exact()
	w.neverTwoModes(mode)
	for _, r := range w.replicas {
		require.NoError(w, r.ctl.Ready())
	}
}

// neverTwoModes looks at the writes since it was called last. They are of at most two modes, the former one and now,
// and the first of now began when the last of the former had been answered.
func (w *town) neverTwoModes(now string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var last, first time.Time
	counts := map[string]int{}
	for _, write := range w.writes {
		counts[write.mode]++
		switch {
		case write.mode != now && write.upTo.After(last):
			last = write.upTo
		case write.mode == now && (first.IsZero() || write.from.Before(first)):
			first = write.from
		}
	}
	w.writes = nil
	require.NotZero(w, counts[now])
	require.False(w, first.Before(last), "%s wrote %v before the former mode had written", now, last.Sub(first))
	if !last.IsZero() {
		w.Logf("%v: %v without a write in between", counts, first.Sub(last))
	}
}

// All switches are rolling updates, without a scale to 0. Never do two modes write at one time, or two numbers of
// shards, and nothing is lost.
func TestSwitch_ByARollingUpdateTwoModesNeverWriteAtOneTime(t *testing.T) {
	inTown(t, func(w *town) {
		w.settle()
		for range 3 {
			w.start("leader", "--leader-elect")
		}
		w.live(time.Minute)
		<-time.After(time.Minute)
		w.exact()
		w.roll("shards-32", "--shards=32")
		w.roll("shards-64-by-uid", "--shards=64", "--shard-by=uid")
		if !extent.IsFull() {
			return
		}
		w.roll("leader", "--leader-elect")
		w.roll("shards-32-by-label", "--shards=32", "--shard-by=label")
	})
}

// The API server is away for some time. No replica ends, and all that happened is made right after it.
func TestShards_AnOutageEndsNoReplica(t *testing.T) {
	for _, outage := range extent.Some(1, []time.Duration{30 * time.Second, 8 * time.Second}) {
		inTown(t, func(w *town) {
			w.settle()
			for range 3 {
				w.start("shards-32", "--shards=32")
			}
			w.live(time.Minute)
			w.Faults().FailNext(-1, apiserver.Failure{Code: http.StatusServiceUnavailable})
			w.Faults().BreakWatches()
			<-time.After(outage)
			w.Faults().Reset()
			w.live(30 * time.Second)
			for _, r := range w.replicas {
				require.NoError(t, r.ctl.Ready(), "30 s after an outage of %v", outage)
			}
			<-time.After(time.Minute)
			w.exact()
			for _, r := range w.replicas {
				require.NotZero(t, r.value(t, "shards_held"))
				select {
				case <-r.ended:
					require.Fail(t, "it has ended", "%v", r.err)
				default:
				}
			}
		})
	}
}

// /metrics has how shards move, and nothing of a leader.
func TestShards_MetricsTellHowTheyMove(t *testing.T) {
	inTown(t, func(w *town) {
		w.settle()
		for range 2 {
			w.start("shards-8", "--shards=8")
			w.live(time.Minute)
		}
		for _, r := range w.replicas {
			registry, ok := r.reg.(prometheus.Gatherer)
			require.True(t, ok)
			for _, name := range []string{
				"shards_held", "shards_gained_total", "shards_lost_total", "shards_unowned_seconds",
				"shards_lag_seconds", "shards_foreign_objects_total", "shards_objects", "shards_largest_objects",
			} {
				n, err := testutil.GatherAndCount(registry, name)
				require.NoError(t, err)
				require.Equal(t, 1, n, name)
			}
			n, err := testutil.GatherAndCount(registry, "leader_election_master_status", "shards_release_seconds")
			require.NoError(t, err)
			require.Zero(t, n)
		}
		first, second := w.replicas[0], w.replicas[1]
		held := second.value(t, "shards_held")
		require.Equal(t, 8-held, first.value(t, "shards_held"))
		require.Equal(t, held, first.value(t, "shards_lost_total"))
		require.Equal(t, 8.0, first.value(t, "shards_lag_seconds"), "each was listed once")
		require.Equal(t, held, second.value(t, "shards_gained_total"))
		require.Equal(t, held, second.value(t, "shards_unowned_seconds"))
	})
}

// value returns that of a gauge or a counter, and of a histogram how often it was told of something.
func (r *replica) value(t *testing.T, name string) float64 {
	families, err := r.reg.(prometheus.Gatherer).Gather()
	require.NoError(t, err)
	for _, family := range families {
		if m := family.GetMetric()[0]; family.GetName() == name {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	require.Fail(t, "no metric "+name)
	return 0
}

func TestShards_TwoReplicasOfOneNameEndWithAnErrorThatSaysWhatToDo(t *testing.T) {
	inTown(t, func(w *town) {
		first := w.start("shards-8", "--shards=8", "--shard-identity=same")
		<-time.After(10 * time.Second)
		second := w.start("shards-8", "--shards=8", "--shard-identity=same")
		<-time.After(2 * time.Minute)
		select {
		case <-second.ended:
			require.ErrorContains(t, second.err, "give each an Identity of its own")
		default:
			require.Fail(t, "it goes on")
		}
		require.NoError(t, first.ctl.Ready())
	})
}
