package shards

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

func TestMember_OnChangeIsToldOfEachGainAndLoss(t *testing.T) {
	tell(t, func(s *story) {
		now := map[int]bool{}
		s.Join("a", func(o *Options) {
			o.OnChange = func(gained map[int]time.Time, lost []int) {
				for _, shard := range lost {
					assert.True(s, now[shard])
					delete(now, shard)
				}
				for shard := range gained {
					assert.False(s, now[shard])
					now[shard] = true
				}
			}
		})
		s.Pass(time.Second)
		assert.Len(s, now, 8)
		s.Join("b", nil)
		s.Pass(time.Second)
		s.Leave("b")
		s.Pass(time.Second)
		assert.Len(s, now, 8)
		s.Leave("a")
		assert.Empty(s, now)
	})
}

// A shard that was got and lost before OnChange was called is in neither list. Told as lost, then got, it would
// seem held.
func TestMember_AShardThatWasLostBeforeItWasToldIsNotToldAsGained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told [][]int
		m, err := New(&coordinationv1client.CoordinationV1Client{}, Options{
			Namespace: "default", Name: "web", Identity: "a", Shards: 2,
			OnChange: func(gained map[int]time.Time, lost []int) {
				told = append(told, slices.Collect(maps.Keys(gained)), lost)
			},
		})
		require.NoError(t, err)
		m.mu.Lock()
		m.acquireLocked(0)
		m.acquireLocked(1)
		m.releaseLocked(0, 0)
		m.mu.Unlock()
		m.tell()
		m.mu.Lock()
		m.releaseLocked(1, 0)
		m.acquireLocked(1)
		m.releaseLocked(1, 0)
		m.mu.Unlock()
		m.tell()
		require.Equal(t, [][]int{{1}, nil, nil, {1}}, told)
	})
}

// A shard is not got again before OnChange knows that it was lost: what was kept for it is of the time before.
func TestMember_AShardIsNotGotAgainBeforeItsLossWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := New(&coordinationv1client.CoordinationV1Client{}, Options{
			Namespace: "default", Name: "web", Identity: "a", Shards: 1,
		})
		require.NoError(t, err)
		m.term, m.deadline = "a/1/x", time.Now().Add(time.Hour)
		decide := func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			fence, own := record{term: m.term, version: 1}, record{identity: "a"}
			m.decideShardLocked(&view{fences: []record{fence}}, 0, own, false)
		}
		decide()
		m.tell()
		require.Equal(t, []int{0}, m.Held())
		m.mu.Lock()
		m.releaseLocked(0, 0)
		m.mu.Unlock()
		decide()
		require.Empty(t, m.Held())
		m.tell()
		decide()
		require.Equal(t, []int{0}, m.Held())
	})
}

// slowFences delays the writes of fences.
type slowFences struct {
	http.RoundTripper
	by time.Duration
}

func (f *slowFences) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPut && strings.Contains(req.URL.Path, "-shard-") {
		time.Sleep(f.by)
	}
	return f.RoundTripper.RoundTrip(req)
}

// A fence may come to name a member that has left meanwhile. Then its Lease must still be there and say so.
func TestMember_AShardOnItsWayToOneThatLeavesIsFreeSoon(t *testing.T) {
	for late := range 4 {
		t.Run(fmt.Sprint(late, " join late"), func(t *testing.T) {
			tell(t, func(s *story) { leaveWithSlowWrites(s, 2+late) })
		})
	}
}

func leaveWithSlowWrites(s *story, want int) {
	network := s.network
	slow := &slowFences{RoundTripper: network}
	s.network = slow
	s.Join("a", nil)
	s.network = network
	s.Join("c", nil)
	s.Pass(10 * time.Second)
	s.ExpectShared(8)
	slow.by = 2 * time.Second
	s.Join("b", nil)
	s.Pass(500 * time.Millisecond)
	s.Leave("b")
	for range want - 2 { // they have never seen b's Lease with a term
		s.Join(fmt.Sprint("d", len(s.members)), nil)
	}
	s.Pass(3 * slow.by)
	s.ExpectShared(8)
	s.Pass(20 * time.Second)
	assert.Len(s, s.Leases("member"), want, "that of b is deleted")
}

// Who restarts under its name takes over from itself. Nobody has worked since it was seen to renew before.
func TestMember_AfterARestartItIsToldHowLongNobodyWorked(t *testing.T) {
	tell(t, func(s *story) {
		dead := s.Join("a", nil)
		s.Pass(10 * time.Second)
		dead.client.Refuse(func(*http.Request) bool { return true })
		crashed := time.Now()
		var unowned []time.Duration
		s.Join("a", func(o *Options) {
			o.OnChange = func(gained map[int]time.Time, _ []int) {
				for _, since := range gained {
					unowned = append(unowned, since.Sub(crashed))
				}
			}
		})
		s.Pass(40 * time.Second)
		assert.Len(s, unowned, 8)
		for _, since := range unowned {
			assert.InDelta(s, 0, since.Seconds(), 5)
		}
		dead.stop()
		<-dead.ended
	})
}
