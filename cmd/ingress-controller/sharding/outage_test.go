package sharding

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/extent"
)

// The API server is away. No replica with shards ends: it stops its work when its own Lease may end, and goes on when
// the server is back. An outage that is short does not stop the work at all.
func TestSharding_AnOutageEndsNoReplica(t *testing.T) {
	for _, o := range extent.Some(4, []struct {
		outage, within time.Duration
		silent         bool
	}{
		{6 * time.Second, 0, true},
		{8 * time.Second, 4 * time.Second, false},
		{11 * time.Second, 4 * time.Second, false},
		{30 * time.Second, 20 * time.Second, true},
		{6 * time.Second, 0, false},
		{8 * time.Second, 4 * time.Second, true},
		{11 * time.Second, 4 * time.Second, true},
		{30 * time.Second, 20 * time.Second, false},
		{10 * time.Minute, 20 * time.Second, false},
		{10 * time.Minute, 20 * time.Second, true},
	}) {
		t.Run(fmt.Sprintf("%v/silent=%t", o.outage, o.silent), func(t *testing.T) {
			inBooth(t, func(b *booth) { b.liveThrough(o.outage, o.within, o.silent) })
		})
	}
}

// A replica whose first renewal of the mode's Lease fails does not take it for renewed, whenever it comes after the last
// replica with shards has gone: a leader that waits for the Lease to run out works then.
func TestSharding_ALeaderAndShardsAreNotBothAtWorkAfterARenewalThatFailed(t *testing.T) {
	both := 0
	for after := 8; after < 26; after += extent.Of(4, 2) {
		inBooth(t, func(b *booth) {
			last := b.enterSharded()
			<-time.After(10 * time.Second)
			leader := b.enter()
			<-time.After(20 * time.Second)
			last.stop()
			<-last.ended
			<-time.After(time.Duration(after) * time.Second)
			if working(leader) > 0 {
				return
			}
			both++
			b.server.Faults().FailNext(1, apiserver.Failure{
				Verb: "update", Resource: "leases", Code: http.StatusServiceUnavailable,
			})
			late := b.enterSharded()
			b.neverBoth(time.Minute, func() int { return working(leader) }, func() int { return heldBy(late) })
		})
	}
	require.Greater(t, both, extent.Of(1, 3))
}

// liveThrough wants three replicas to live through an outage, and to hold all shards again that long after it.
func (b *booth) liveThrough(outage, within time.Duration, silent bool) {
	all := []*member{b.enterSharded(), b.enterSharded(), b.enterSharded()}
	<-time.After(time.Minute)
	require.Equal(b.t, 8, heldBy(all...))
	back := b.outage(silent)
	began, validity := time.Now(), shards.Options{LeaseDuration: 15 * time.Second}.Validity()
	for time.Since(began) < outage {
		<-time.After(100 * time.Millisecond)
		if time.Since(began) > validity {
			require.Zero(b.t, heldBy(all...), "%v after the last renewal that can have been sent", time.Since(began))
		}
	}
	back()
	<-time.After(within)
	require.Equal(b.t, 8, heldBy(all...), "%v after the outage", within)
	<-time.After(time.Minute)
	require.Equal(b.t, 8, heldBy(all...))
	for _, m := range all {
		require.NoError(b.t, m.Ready())
		require.True(b.t, m.lives())
	}
}

func (m *member) lives() bool {
	select {
	case <-m.ended:
		return false
	default:
		return true
	}
}

// outage has all requests fail, or wait for their timeout, and breaks the watches.
func (b *booth) outage(silent bool) (back func()) {
	defer b.server.Faults().BreakWatches()
	if !silent {
		b.server.Faults().FailNext(-1, apiserver.Failure{Code: http.StatusServiceUnavailable})
		return b.server.Faults().Reset
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	down := make(chan struct{})
	b.down = down
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.down = nil
		close(down)
	}
}

// An outage in the midst of a rolling update: the Lease runs out, and a leader may be the one that gets it. Then the
// replicas with shards wait for it, and go on after it.
func TestSharding_AfterAnOutageALeaderOrShardsWorkAndNeverBoth(t *testing.T) {
	outages, shardsWaited := 0, 0
	for run := 0; run < 20; run += extent.Of(7, 1) {
		outages++
		inBooth(t, func(b *booth) {
			both := []*member{b.enterSharded(), b.enterSharded()}
			<-time.After(time.Minute)
			leader := b.enter()
			leads, holds := func() int { return working(leader) }, func() int { return heldBy(both...) }
			b.neverBoth(time.Duration(run)*500*time.Millisecond, leads, holds)
			back := b.outage(run%2 == 0) // for all, or for the replicas with shards only
			b.neverBoth(30*time.Second, leads, holds)
			back()
			b.neverBoth(time.Minute, leads, holds)
			if leads() == 1 {
				shardsWaited++
				require.True(t, both[0].waits())
				leader.stop()
				<-leader.ended
			}
			b.neverBoth(time.Minute, leads, holds)
			require.Equal(t, 8, holds())
			require.True(t, both[0].lives())
			require.True(t, both[1].lives())
		})
	}
	t.Logf("the leader was first after %d of %d outages", shardsWaited, outages)
	if extent.IsFull() {
		require.Positive(t, shardsWaited)
		require.Less(t, shardsWaited, outages)
	}
}
