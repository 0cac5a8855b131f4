package shards

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver"
)

func TestMember_TwoShareTheShardsAndOneTakesOverWhenTheOtherLeaves(t *testing.T) {
	tell(t, func(s *story) {
		a := s.Join("a", nil)
		s.Pass(time.Second)
		assert.Len(s, a.Held(), 8)
		s.Join("b", nil)
		s.Pass(time.Second)
		s.ExpectShared(8)
		assert.Less(s, len(a.Held()), 8)
		begun := time.Now()
		s.Leave("b")
		s.Pass(100 * time.Millisecond)
		assert.Len(s, a.Held(), 8)
		assert.Less(s, time.Since(begun), time.Second, "nobody waits for the Lease of a member that leaves")
		s.Pass(time.Minute)
		assert.Equal(s, map[string]string{"web-member-a": "a"}, s.Leases("member"), "what is left of b is deleted")
	})
}

func TestMember_ACrashedOnesShardsAreTakenAfterItsLease(t *testing.T) {
	tell(t, func(s *story) {
		var unowned atomic.Int64
		a := s.Join("a", func(o *Options) {
			o.OnChange = func(gained map[int]time.Time, _ []int) {
				for _, idle := range gained {
					unowned.Store(max(unowned.Load(), int64(time.Since(idle))))
				}
			}
		})
		b := s.Join("b", nil)
		s.Pass(10 * time.Second)
		s.ExpectShared(8)
		b.client.Refuse(func(*http.Request) bool { return true })
		s.Faults().BreakWatches()
		s.Pass(11 * time.Second)
		assert.Empty(s, b.Held(), "a member that is cut off stops before its Lease ends")
		assert.NotEmpty(s, b.Ready())
		assert.NotEmpty(s, a.Held())
		assert.Less(s, len(a.Held()), 8, "and nobody takes its shards before")
		s.Pass(5 * time.Second)
		assert.Len(s, a.Held(), 8)
		assert.Greater(s, time.Duration(unowned.Load()), 10*time.Second)
		b.client.Refuse(nil)
		s.Pass(20 * time.Second)
		s.ExpectShared(8)
	})
}

func TestMember_AHandOverWaitsForTheReconcilesOfTheShard(t *testing.T) {
	tell(t, func(s *story) {
		a := s.Join("a", nil)
		s.Pass(time.Second)
		var dones []func()
		var contexts []context.Context
		for shard := range 8 {
			ctx, done, ok := a.Begin(context.Background(), shard)
			require.True(s, ok)
			contexts, dones = append(contexts, ctx), append(dones, done)
		}
		b := s.Join("b", nil)
		s.Pass(2 * time.Second)
		assert.Empty(s, b.Held())
		lost := 0
		for shard := range 8 {
			if _, done, ok := a.Begin(context.Background(), shard); ok {
				done()
			} else {
				lost++
			}
			require.NoError(s, contexts[shard].Err())
		}
		require.Positive(s, lost)
		for _, done := range dones {
			done()
			done()
		}
		s.Pass(time.Second)
		assert.Len(s, b.Held(), lost)
	})
}

func TestMember_AReconcileThatHoldsAHandOverUpIsCancelledAfterStopWithin(t *testing.T) {
	tell(t, func(s *story) {
		a := s.Join("a", func(o *Options) { o.Shards = 1 })
		s.Pass(time.Second)
		ctx, done, ok := a.Begin(context.Background(), 0)
		require.True(s, ok)
		stopped := time.Now()
		a.stop()
		<-ctx.Done()
		assert.Equal(s, 3*time.Second, time.Since(stopped))
		done()
	})
}

func TestMember_AWriteOnItsWayIsGivenAwayEvenIfItSeemsToFail(t *testing.T) {
	tell(t, func(s *story) {
		a := s.Join("a", nil)
		s.Pass(time.Second)
		a.client.Refuse(func(r *http.Request) bool {
			return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "-shard-")
		})
		s.Join("b", nil)
		s.Pass(2 * time.Second)
		lost := 8 - len(a.Held())
		require.Positive(s, lost)
		s.Leave("b")
		s.Pass(time.Second)
		assert.Len(s, a.Held(), 8-lost, "what was offered to b may arrive yet")
		before := s.FenceVersions()
		a.client.Refuse(nil)
		for s.FenceVersions() == before {
			s.Pass(5 * time.Millisecond)
		}
		s.Pass(100 * time.Millisecond)
		assert.Len(s, a.Held(), 8, "but another write settles it, though it names the same term")
	})
}

func TestMember_TwoOfOneNameAreAnError(t *testing.T) {
	tell(t, func(s *story) {
		first := s.Join("a", nil)
		s.Pass(time.Second)
		second, err := New(s.client, Options{Namespace: "default", Name: "web", Identity: "a", Shards: 8})
		require.NoError(s, err)
		err = second.Run(context.Background())
		require.ErrorIs(s, err, ErrDuplicate)
		assert.ErrorContains(s, err, "give each an Identity of its own")
		assert.Empty(s, second.Held())
		assert.Len(s, first.Held(), 8)
		assert.ErrorIs(s, second.Run(context.Background()), ErrAlreadyRun)
	})
}

func TestMember_OneThatRestartsUnderItsNameWaitsForItsFormerLease(t *testing.T) {
	tell(t, func(s *story) {
		dead := s.Join("a", nil)
		s.Pass(time.Second)
		dead.client.Refuse(func(*http.Request) bool { return true })
		delete(s.members, "a")
		again := s.Join("a", nil)
		s.Pass(14 * time.Second)
		assert.Empty(s, again.Held())
		s.Pass(4 * time.Second)
		assert.Len(s, again.Held(), 8)
		dead.stop()
		require.NoError(s, <-dead.ended)
	})
}

func TestMember_MissingRightsAreNamedAndHeal(t *testing.T) {
	tell(t, func(s *story) {
		s.Faults().FailNext(-1, apiserver.Failure{
			Resource: "leases", Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		})
		a := s.Join("a", nil)
		s.Pass(time.Second)
		assert.ErrorContains(s, a.Ready(), "grant get, list, watch, create, update and delete on "+
			"leases.coordination.k8s.io in namespace default")
		assert.Empty(s, a.Held(), "a replica that holds no Lease reconciles nothing")
		_, _, ok := a.Begin(context.Background(), 0)
		assert.False(s, ok)
		s.Faults().Reset()
		s.Pass(10 * time.Second)
		assert.NoError(s, a.Ready())
		assert.Len(s, a.Held(), 8)
	})
}

// A member that may list and not watch lists again and again, and renews by what the lists show.
func TestMember_IsNotReadyWithoutTheRightToWatch(t *testing.T) {
	tell(t, func(s *story) {
		s.Faults().FailNext(-1, apiserver.Failure{
			Verb: "watch", Resource: "leases", Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		})
		a := s.Join("a", nil)
		s.Pass(time.Minute)
		assert.ErrorContains(s, a.Ready(), "grant get, list, watch")
		s.Faults().Reset()
		s.Pass(time.Minute)
		assert.NoError(s, a.Ready())
	})
}

func TestMember_ALeaseThatIsDeletedByHandIsMadeAnew(t *testing.T) {
	tell(t, func(s *story) {
		s.Join("a", nil)
		s.Join("b", nil)
		s.Pass(time.Second)
		for range 3 {
			err := s.client.Leases("default").Delete(context.Background(), "web-member-a", metav1.DeleteOptions{})
			require.NoError(s, err)
			s.Pass(30 * time.Second)
			s.ExpectShared(8)
		}
	})
}

func TestMember_ANumberOfShardsChangesByARollingUpdate(t *testing.T) {
	tell(t, func(s *story) {
		s.Join("a", nil)
		s.Join("b", nil)
		s.Pass(time.Second)
		sixteen := func(o *Options) { o.Shards = 16 }
		c := s.Join("c", sixteen)
		s.Pass(time.Second)
		assert.Empty(s, c.Held(), "most members have eight")
		assert.NoError(s, c.Ready(), "or the rolling update would not go on")
		s.Leave("a")
		s.Pass(time.Second)
		assert.Len(s, c.Held(), 16, "of equals those with more shards work")
		assert.Empty(s, s.members["b"].Held())
		s.Leave("b")
		s.Join("d", sixteen)
		s.Pass(time.Minute)
		s.ExpectShared(16)
		assert.Len(s, s.Leases("shard"), 16, "the fences of eight are deleted")
	})
}

func TestNew_BadOptionsAreErrorsThatSayWhatToChange(t *testing.T) {
	good := Options{Namespace: "ns", Name: "web", Identity: "web-0"}
	for want, change := range map[string]func(*Options){
		"Namespace is empty":               func(o *Options) { o.Namespace = "" },
		`Name "a b" cannot be a label`:     func(o *Options) { o.Name = "a b" },
		`Identity "a/b" and "web-member-a`: func(o *Options) { o.Identity = "a/b" },
		"Shards is -1: it must be from 1":  func(o *Options) { o.Shards = -1 },
		"it must be whole seconds":         func(o *Options) { o.LeaseDuration = 1500 * time.Millisecond },
		"cannot be names of Leases":        func(o *Options) { o.Identity = strings.Repeat("a", 250) },
	} {
		opts := good
		change(&opts)
		assert.ErrorContains(t, opts.complete(), want)
	}
	require.NoError(t, good.complete())
	assert.Equal(t, 256, good.Shards)
}
