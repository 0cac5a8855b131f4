package sharding

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/extent"
)

const modeLasts = 15 * time.Second // of a member's Lease

func (b *booth) mode(candidate string, wrap func(http.RoundTripper) http.RoundTripper) *mode {
	cfg := rest.CopyConfig(b.cfg)
	cfg.QPS = -1
	cfg.Wrap(wrap)
	client, err := coordinationv1client.NewForConfig(cfg)
	require.NoError(b.t, err)
	return &mode{client: client, namespace: "default", name: program, candidate: candidate, lasts: modeLasts}
}

func plain(next http.RoundTripper) http.RoundTripper { return next }

// What the picture of mode needs: whatever time the requests take, when hold succeeds the Lease was renewed at most
// half a LeaseDuration before hold was called. That is seen at the server. It fails for none because another was quicker.
func TestMode_WhenItIsHeldTheLeaseWasRenewedShortlyBefore(t *testing.T) {
	inBooth(t, func(b *booth) {
		var mu sync.Mutex
		var renewed time.Time // when the server took the last renewal
		slow := func(next http.RoundTripper) http.RoundTripper {
			return apiservertest.RoundTripper(func(req *http.Request) (*http.Response, error) {
				<-time.After(rand.N(500 * time.Millisecond))
				mu.Lock()
				answer, err := next.RoundTrip(req)
				if err == nil && req.Method != http.MethodGet && answer.StatusCode < 300 {
					renewed = time.Now()
				}
				mu.Unlock()
				<-time.After(rand.N(500 * time.Millisecond))
				return answer, err
			})
		}
		minutes := extent.Of(15, 60)
		ctx, stop := context.WithTimeout(context.Background(), time.Duration(minutes)*time.Minute)
		defer stop()
		var replicas sync.WaitGroup
		oldest, succeeded := time.Duration(0), 0
		for range 4 {
			m := b.mode("shards", slow)
			replicas.Go(func() {
				for ctx.Err() == nil {
					began := time.Now()
					if err := m.hold(ctx); ctx.Err() == nil && assert.NoError(b.t, err) {
						mu.Lock()
						oldest, succeeded = max(oldest, began.Sub(renewed)), succeeded+1
						mu.Unlock()
					}
					<-time.After(rand.N(6 * time.Second))
				}
			})
		}
		replicas.Wait()
		require.Less(t, oldest, modeLasts/2)
		require.Greater(t, oldest, modeLasts/3, "it is renewed more often than need be")
		require.Greater(t, succeeded, 50*minutes)
	})
}

// Whatever the mode's Lease says how long it lasts: after that no member works, on any clock.
func TestMode_TheLeaseOutlivesTheWork(t *testing.T) {
	for _, lasts := range []time.Duration{time.Second, 7 * time.Second, 15 * time.Second, time.Minute} {
		inBooth(t, func(b *booth) {
			m := b.mode("shards", plain)
			m.lasts = lasts
			require.NoError(t, m.hold(context.Background()))
			o := shards.Options{LeaseDuration: lasts}
			work := lasts/2 + o.Validity() + o.StopWithin() // on the slowest clock
			slowest, fastest := 1-shards.MaxClockDrift, 1+shards.MaxClockDrift
			seconds := float64(*b.lease().Spec.LeaseDurationSeconds)
			require.Less(t, work.Seconds()/slowest, seconds/fastest)
		})
	}
}

// Replicas whose LeaseDurations differ, as in a rolling update, let the Lease last for the longest.
func TestMode_AReplicaThatNeedsLessDoesNotShortenTheLease(t *testing.T) {
	inBooth(t, func(b *booth) {
		long, short := b.mode("shards", plain), b.mode("shards", plain)
		long.lasts = time.Minute
		lasts := func() int32 { return *b.lease().Spec.LeaseDurationSeconds }
		require.NoError(t, short.hold(context.Background()))
		require.EqualValues(t, 24, lasts())
		require.NoError(t, long.hold(context.Background()))
		require.EqualValues(t, 96, lasts())
		<-time.After(10 * time.Second)
		before := b.lease().Spec.RenewTime
		require.NoError(t, short.hold(context.Background()))
		<-time.After(10 * time.Second)
		require.NoError(t, short.hold(context.Background()))
		require.NotEqual(t, before, b.lease().Spec.RenewTime)
		require.EqualValues(t, 96, lasts())
		lease := b.lease()
		lease.Spec.LeaseDurationSeconds = ptr.To(int32(24))
		b.write(lease)
		require.NoError(t, long.hold(context.Background()))
		require.EqualValues(t, 96, lasts())
	})
}

// client-go sees no renewal if two have the same second, as those of replicas with different clocks may.
func TestMode_RenewalsDifferByASecondWhateverTheClocksShow(t *testing.T) {
	inBooth(t, func(b *booth) {
		require.NoError(t, b.mode("shards", plain).hold(context.Background()))
		lease := b.lease()
		for _, ahead := range []time.Duration{0, time.Hour} {
			lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now().Add(ahead)))
			b.write(lease)
			before := b.lease().Spec.RenewTime.Time
			require.NoError(t, b.mode("shards", plain).hold(context.Background()))
			lease = b.lease()
			require.NotEqual(t, before.Unix(), lease.Spec.RenewTime.Unix())
		}
	})
}

// An edit of something else is no renewal, and a Lease that somebody deleted is made anew.
func TestMode_OnlyARenewalCounts(t *testing.T) {
	inBooth(t, func(b *booth) {
		m := b.mode("shards", plain)
		require.NoError(t, m.hold(context.Background()))
		<-time.After(modeLasts/2 - time.Second)
		lease := b.lease()
		lease.Annotations = map[string]string{"by": "hand"}
		b.write(lease)
		before := b.lease().Spec
		require.NoError(t, m.hold(context.Background()))
		require.Equal(t, before, b.lease().Spec, "there is time")
		<-time.After(time.Second)
		require.NoError(t, m.hold(context.Background()))
		require.NotEqual(t, before, b.lease().Spec)
		require.NoError(t, m.client.Leases("default").Delete(context.Background(), program, metav1.DeleteOptions{}))
		require.NoError(t, m.hold(context.Background()))
		require.Equal(t, "shards", b.holder())
	})
}

// A renewal that the server did not take is none.
func TestMode_AFailedRenewalIsNoRenewal(t *testing.T) {
	inBooth(t, func(b *booth) {
		require.NoError(t, b.mode("shards", plain).hold(context.Background())) // by one that is dead from now on
		before := b.lease().Spec.RenewTime
		<-time.After(20 * time.Second)
		m := b.mode("shards", plain)
		b.server.Faults().FailNext(1, apiserver.Failure{
			Verb: "update", Resource: "leases", Code: http.StatusServiceUnavailable,
		})
		require.Error(t, m.hold(context.Background()))
		require.Equal(t, before, b.lease().Spec.RenewTime)
		<-time.After(time.Second)
		require.NoError(t, m.hold(context.Background()))
		require.NotEqual(t, before, b.lease().Spec.RenewTime)
	})
}

// Who comes takes a Lease that nobody renews, counted from when it was seen, and one that was given up at once.
func TestMode_WaitsForAnothersLease(t *testing.T) {
	inBooth(t, func(b *booth) {
		require.NoError(t, b.mode("leader", plain).hold(context.Background()))
		m := b.mode("shards", plain)
		began := time.Now()
		for {
			err := m.hold(context.Background())
			if err == nil {
				break
			}
			require.True(t, apierrors.IsConflict(err), "so that no member reports it")
			require.True(t, m.othersRun.Load())
			<-time.After(time.Second)
		}
		require.Equal(t, 24*time.Second, time.Since(began))
		require.False(t, m.othersRun.Load())
		lease := b.lease()
		require.Equal(t, int32(1), *lease.Spec.LeaseTransitions)
		*lease.Spec.HolderIdentity = ""
		b.write(lease)
		require.NoError(t, b.mode("leader", plain).hold(context.Background()))
		require.Error(t, m.hold(context.Background()))
	})
}

// What a member writes beside its renewals needs no mode: it leaves, and takes names out of others' Leases.
func TestMode_OnlyRenewalsNeedIt(t *testing.T) {
	inBooth(t, func(b *booth) {
		require.NoError(t, b.mode("leader", plain).hold(context.Background()))
		m := b.mode("shards", plain)
		leases := m.Leases("default")
		member := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: program + "-member-a"}}
		member, err := leases.Create(context.Background(), member, metav1.CreateOptions{})
		require.NoError(t, err)
		member.Spec.HolderIdentity = ptr.To("a/8/1")
		_, err = leases.Update(context.Background(), member, metav1.UpdateOptions{})
		require.True(t, apierrors.IsConflict(err))
		member.Name = program + "-member-b"
		member.ResourceVersion, member.UID = "", ""
		_, err = leases.Create(context.Background(), member, metav1.CreateOptions{})
		require.True(t, apierrors.IsConflict(err))
		fence := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: program + "-shard-8-1"}}
		_, err = leases.Create(context.Background(), fence, metav1.CreateOptions{})
		require.NoError(t, err)
	})
}
