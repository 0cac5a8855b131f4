package shards

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// foreignLease makes a Lease of the group as somebody else may have written it.
func (s *story) foreignLease(name, holder string, change func(*coordinationv1.LeaseSpec)) {
	l := with(nil, "web", name, holder, 15*time.Second)
	change(&l.Spec)
	_, err := s.client.Leases("default").Create(context.Background(), l, metav1.CreateOptions{})
	require.NoError(s, err)
}

// Whatever somebody has written into a member's Lease: the members work, are ready, and end it once it has expired.
func TestMember_AForeignLeaseKeepsNobodyFromWork(t *testing.T) {
	for name, change := range map[string]func(*coordinationv1.LeaseSpec){
		"no field":                func(s *coordinationv1.LeaseSpec) { *s = coordinationv1.LeaseSpec{HolderIdentity: s.HolderIdentity} },
		"no duration":             func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = nil },
		"duration of 68 years":    func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = ptr.To[int32](math.MaxInt32) },
		"no holder":               func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = nil },
		"holder is a word":        func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = ptr.To("somebody") },
		"no number of shards":     func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = ptr.To("ghost/many/1") },
		"too many shards":         func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = ptr.To("ghost/999999999/1") },
		"fewer than no shards":    func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = ptr.To("ghost/-8/1") },
		"another's term":          func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = ptr.To("a/8/1") },
		"most transitions":        func(s *coordinationv1.LeaseSpec) { s.LeaseTransitions = ptr.To[int32](math.MaxInt32) },
		"renewed in the far past": func(s *coordinationv1.LeaseSpec) { s.RenewTime = ptr.To(metav1.NewMicroTime(time.Unix(0, 0))) },
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				s.foreignLease("web-member-ghost", "ghost/8/1", change)
				a, b := s.Join("a", nil), s.Join("b", nil)
				s.Pass(time.Minute)
				require.NoError(s, a.Ready())
				require.NoError(s, b.Ready())
				s.ExpectShared(8)
				require.NotContains(s, s.Leases("member"), "web-member-ghost", "it has ended, and was deleted")
			})
		})
	}
}

// A Lease that names no number of shards is no member that could outvote others, not even until it expires.
func TestMember_AForeignLeaseHasNoVoteOnTheNumberOfShards(t *testing.T) {
	for _, holder := range []string{"somebody", "ghost/many/1", "ghost/999999999/1", "a/16/1"} {
		tell(t, func(s *story) {
			a := s.Join("a", nil)
			s.Pass(10 * time.Second)
			for _, name := range []string{"web-member-ghost", "web-member-ghost2"} {
				s.foreignLease(name, holder, func(*coordinationv1.LeaseSpec) {})
			}
			s.Pass(time.Second)
			require.Len(s, a.Held(), 8, holder)
		})
	}
}

// A member's own Lease, left by whomever, is taken over after this member's LeaseDuration.
func TestMember_TakesItsOwnLeaseOverWhateverItSays(t *testing.T) {
	for _, seconds := range []*int32{nil, ptr.To[int32](math.MaxInt32)} {
		tell(t, func(s *story) {
			s.foreignLease("web-member-a", "a/8/1", func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = seconds })
			a := s.Join("a", nil)
			s.Pass(30 * time.Second)
			require.NoError(s, a.Ready())
			require.Len(s, a.Held(), 8)
		})
	}
}

// A fence without a duration that names a term nobody has is waited for, as one with a duration.
func TestMember_AFenceWithoutDurationIsWaitedForAllTheSame(t *testing.T) {
	for _, seconds := range []*int32{nil, ptr.To[int32](math.MaxInt32)} {
		tell(t, func(s *story) {
			s.foreignLease("web-shard-8-3", "gone/8/1", func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = seconds })
			a := s.Join("a", nil)
			s.Pass(10 * time.Second)
			require.Len(s, a.Held(), 7)
			s.Pass(10 * time.Second)
			require.Len(s, a.Held(), 8)
		})
	}
}

// A name that only looks like a fence's is not taken for it.
func TestRead_OnlyTheFencesOwnNameCounts(t *testing.T) {
	for name, want := range map[string]int{
		"web-shard-8-3": 8, "web-shard-8-03": 0, "web-shard-+8-3": 0, "web-shard-8-8": 0, "web-shard-8--1": 0,
		"web-shard-8": 0, "web-shard-99999999999999999999-1": 0, "web": 0,
	} {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
		require.Equal(t, want, Options{Name: "web", LeaseDuration: time.Second}.read(l).count, name)
	}
}
