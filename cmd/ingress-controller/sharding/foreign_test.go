package sharding

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"glasswatch/internal/extent"
)

// nonsense is what somebody may have written into a Lease, by what it is.
var nonsense = map[string]func(*coordinationv1.LeaseSpec){
	"no duration":          func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = nil },
	"duration of 68 years": func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = ptr.To[int32](math.MaxInt32) },
	"no transitions":       func(s *coordinationv1.LeaseSpec) { s.LeaseTransitions = nil },
	"most transitions":     func(s *coordinationv1.LeaseSpec) { s.LeaseTransitions = ptr.To[int32](math.MaxInt32) },
	"negative transitions": func(s *coordinationv1.LeaseSpec) { s.LeaseTransitions = ptr.To[int32](-2) },
	"no times":             func(s *coordinationv1.LeaseSpec) { s.AcquireTime, s.RenewTime = nil, nil },
	"renewed at the end of time": func(s *coordinationv1.LeaseSpec) {
		s.RenewTime = ptr.To(metav1.NewMicroTime(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)))
	},
	"only a holder": func(s *coordinationv1.LeaseSpec) { *s = coordinationv1.LeaseSpec{HolderIdentity: s.HolderIdentity} },
}

// Replicas with shards wait until it has run out, take another's Lease, and make it a proper one.
func TestMode_NonsenseInAnothersLeaseKeepsNobodyFromWork(t *testing.T) {
	for name, change := range nonsense {
		for _, holder := range extent.Some(1, []string{"leader", "shards-by-namespace"}) {
			t.Run(name+" of "+holder, func(t *testing.T) {
				inBooth(t, func(b *booth) {
					require.NoError(t, b.mode(holder, plain).hold(context.Background()))
					lease := b.lease()
					change(&lease.Spec)
					b.write(lease)
					m := b.enterSharded()
					<-time.After(10 * time.Second)
					if holder == "leader" {
						require.Zero(t, heldBy(m), "whoever has written it may work")
					}
					<-time.After(time.Minute)
					require.NoError(t, m.Ready())
					require.Equal(t, 8, heldBy(m))
					spec := b.lease().Spec
					require.EqualValues(t, 24, *spec.LeaseDurationSeconds)
					require.WithinDuration(t, time.Now(), spec.RenewTime.Time, 10*time.Second)
					require.Contains(t, []int32{0, 1}, ptr.Deref(spec.LeaseTransitions, 0))
				})
			})
		}
	}
}
