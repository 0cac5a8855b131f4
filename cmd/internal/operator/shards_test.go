package operator

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver"
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

// A sibling's renewal is younger than the version that this replica's update was based on, and counts from then.
func TestSharding_ASiblingsRenewalCountsFromBeforeItCanHaveBeenSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const validity, request = 10 * time.Second, time.Second
		ended := make(chan struct{})
		script := &scriptedLock{takes: request}
		lock := &watchedLock{Interface: script, validity: validity, taken: sync.OnceFunc(func() { close(ended) })}
		defer lock.rest()
		script.record = resourcelock.LeaderElectionRecord{HolderIdentity: "me", RenewTime: metav1.Now()}
		conflict := apierrors.NewConflict(coordinationv1.Resource("leases"), "a", nil)
		update := func(err error) error {
			mine := script.record
			mine.RenewTime = metav1.Now()
			if script.updates = err; err == nil {
				script.record = mine
			}
			return lock.Update(t.Context(), mine)
		}
		require.ErrorIs(t, update(conflict), conflict, "it has not held the Lease yet")
		require.NoError(t, update(nil)) // sent one second ago
		require.ErrorIs(t, update(conflict), conflict, "an edit of something else")
		asked := time.Now().Add(-request) // by the Get after the conflict
		<-time.After(2 * time.Second)
		script.record.RenewTime = metav1.Now()
		require.NoError(t, update(conflict), "renewed after it was asked for")
		<-ended
		require.Equal(t, validity, time.Since(asked), "its own deadline, although client-go tries for longer")
	})
}

// The requests take so long that the sibling's renewal, which was new when they began, is no longer.
func TestSharding_ARenewalThatIsOldWhenTheAnswerComesDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &scriptedLock{}
		lock := &watchedLock{Interface: script, validity: 10 * time.Second, taken: func() {}}
		defer lock.rest()
		mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me", RenewTime: metav1.Now()}
		require.NoError(t, lock.Update(t.Context(), mine))
		<-time.After(3 * time.Second)
		script.record = resourcelock.LeaderElectionRecord{HolderIdentity: "me", RenewTime: metav1.Now()}
		script.takes = 4 * time.Second
		script.updates = apierrors.NewConflict(coordinationv1.Resource("leases"), "a", nil)
		require.ErrorIs(t, lock.Update(t.Context(), mine), script.updates)
		script.record.HolderIdentity, script.takes = "another", 0
		require.ErrorIs(t, lock.Update(t.Context(), mine), script.updates, "no sibling's")
	})
}

// A server is cut off from all. Replicas with shards end before a leader could take over from them.
func TestSharding_ReplicasThatCannotRenewEndBeforeTheLeaseDoes(t *testing.T) {
	inBooth(t, func(b *booth) {
		all := []*candidate{b.enterSharded(), b.enterSharded(), b.enterSharded()}
		<-time.After(time.Minute)
		require.Equal(t, 3, working(all...))
		b.server.Faults().FailNext(-1, apiserver.Failure{Resource: "leases", Code: http.StatusInternalServerError})
		failing := time.Now()
		for _, c := range all {
			<-c.ended
			require.ErrorIs(t, c.err, errLost)
		}
		require.LessOrEqual(t, time.Since(failing), shards.Options{LeaseDuration: 15 * time.Second}.Validity())
		b.server.Faults().Reset()
	})
}

func TestSharding_ARenewalMustBeGoodForThreeTries(t *testing.T) {
	f, fs := &Flags{}, pflag.NewFlagSet(program, pflag.ContinueOnError)
	f.AddTo(fs)
	f.AddSharding(fs)
	require.NoError(t, fs.Parse([]string{"--shards=8", "--leader-elect-retry-period=4s"}))
	require.ErrorContains(t, f.Validate(fs), "--leader-elect-retry-period: with --shards")
}
