package operator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

// A replica that cannot renew ends before the Lease does, whoever renewed it last.
func TestSharding_ARenewalOfASiblingCountsFromWhenItCanHaveBeen(t *testing.T) {
	inBooth(t, func(b *booth) {
		c := b.enterSharded()
		<-time.After(61 * time.Second)
		lease := b.lease()
		*lease.Spec.HolderIdentity = "another"
		b.write(lease)
		<-c.ended
		require.ErrorIs(t, c.err, errLost)
	})
}
