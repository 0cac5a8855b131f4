package operator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func (b *booth) enterSharded(args ...string) *candidate {
	b.t.Helper()
	return b.enterAs(append([]string{"--shards=8", "--leader-elect-namespace=default"}, args...)...)
}

// held reports who holds the Lease of the election.
func (b *booth) held() string { return *b.lease().Spec.HolderIdentity }

func working(all ...*candidate) (n int) {
	for _, c := range all {
		select {
		case <-c.ended:
		default:
			if c.leads() {
				n++
			}
		}
	}
	return n
}

// A rolling update from one leader to replicas with shards: those wait until the last leader has gone, and then work
// together.
func TestSharding_FromALeaderToShardsNeverBothAreAtWork(t *testing.T) {
	inBooth(t, func(b *booth) {
		leader, standby := b.enter(), b.enter()
		first, second := b.enterSharded(), b.enterSharded()
		<-time.After(time.Minute)
		require.Equal(t, 1, working(leader, standby))
		require.Zero(t, working(first, second))
		require.NoError(t, first.ready(), "or the update would not get on")
		standby.stop()
		<-standby.ended
		leader.stop()
		<-time.After(500 * time.Millisecond)
		require.Zero(t, working(first, second), "the leader's work still drains")
		<-leader.ended
		<-first.won
		<-second.won
		require.Equal(t, "shards-by-namespace", b.held())
	})
}

// And back: the Lease is kept as long as one replica with shards is there, and runs out after that.
func TestSharding_FromShardsToALeaderNeverBothAreAtWork(t *testing.T) {
	inBooth(t, func(b *booth) {
		first, second, third := b.enterSharded(), b.enterSharded(), b.enterSharded()
		<-time.After(10 * time.Second)
		require.Equal(t, 3, working(first, second, third))
		leader, others := b.enter(), b.enterSharded("--shard-by=uid")
		for _, c := range []*candidate{first, second, third} {
			<-time.After(time.Minute)
			require.Zero(t, working(leader, others))
			require.Positive(t, working(first, second, third))
			c.stop()
			<-c.ended
			require.NoError(t, c.err)
			require.Equal(t, "shards-by-namespace", b.held(), "others may work under it")
		}
		gone := time.Now()
		require.Zero(t, working(leader, others))
		<-time.After(22 * time.Second)
		require.Equal(t, 1, working(leader, others))
		require.Less(t, time.Since(gone), 25*time.Second)
	})
}

// One renews for all: the others' updates conflict, and that is no error. So a group writes the Lease about as often as
// one leader.
func TestSharding_OneRenewsForAll(t *testing.T) {
	inBooth(t, func(b *booth) {
		all := []*candidate{b.enterSharded(), b.enterSharded(), b.enterSharded(), b.enterSharded(), b.enterSharded()}
		<-time.After(time.Minute)
		before := b.server.Revision()
		<-time.After(time.Minute)
		require.Equal(t, len(all), working(all...))
		require.Less(t, b.server.Revision()-before, int64(75), "30 by one that renews every two seconds")
		for _, c := range all {
			require.NoError(t, c.ready())
		}
	})
}

// A sibling's renewal is younger than the version that this replica's update was based on. If that is too old, so may
// be the renewal: it does not count.
func TestSharding_ARenewalOfASiblingCountsOnlyIfItIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &scriptedLock{}
		lock := &watchedLock{Interface: script, siblings: 3 * time.Second, taken: func() {}}
		mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
		script.record = mine
		conflict := apierrors.NewConflict(coordinationv1.Resource("leases"), "a", nil)
		update := func(err error) error {
			script.updates = err
			return lock.Update(t.Context(), mine)
		}
		require.ErrorIs(t, update(conflict), conflict, "it has not held the Lease yet")
		require.NoError(t, update(nil))
		<-time.After(2 * time.Second)
		require.NoError(t, update(conflict), "renewed in the last two seconds")
		<-time.After(3 * time.Second)
		require.ErrorIs(t, update(conflict), conflict, "perhaps renewed three seconds ago")
		require.NoError(t, update(nil))
		script.record.HolderIdentity = "another"
		require.ErrorIs(t, update(conflict), conflict, "no sibling's")
	})
}
