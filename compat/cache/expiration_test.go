package cache

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

func TestExpiringStore_DoesWhatClientGosDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		clock := clocktesting.NewFakeClock(time.Unix(0, 0))
		policy := &TTLPolicy{TTL: 10 * time.Second, Clock: clock}
		deleted, ourDeleted := make(chan string, 1000), make(chan string, 1000)
		w := twins{}
		theirs := clientGoStorage.expiring(keyOfPod, deleted, policy, clock)
		ours := ourStorage.expiring(keyOfPod, ourDeleted, policy, clock)
		both := func(what string, do func(s Store) error) { equalErrors(rt, do(theirs), do(ours), what) }
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			pod := drawPod(rt, &w.version)
			switch rapid.IntRange(0, 8).Draw(rt, "step") {
			case 0, 1, 2:
				both("add", func(s Store) error { return s.Add(pod) })
			case 3:
				both("update", func(s Store) error { return s.Update(pod) })
			case 4:
				both("delete", func(s Store) error { return s.Delete(pod) })
			case 5:
				list := drawPods(rt, &w.version, 4)
				both("replace", func(s Store) error { return s.Replace(append([]any(nil), list...), "") })
				both("keyless", func(s Store) error { return s.Replace([]any{"keyless"}, "") })
				both("keyless", func(s Store) error { return s.Add("keyless") })
			case 6:
				clock.Step(time.Duration(rapid.IntRange(0, 6).Draw(rt, "seconds")) * time.Second)
			case 7:
				require.Equal(rt, printed(theirs.List()), printed(ours.List()))
			case 8:
				obj, exists, err := theirs.Get(pod)
				ourObj, ourExists, ourErr := ours.Get(pod)
				require.Equal(rt, []any{obj, exists, err}, []any{ourObj, ourExists, ourErr})
			}
			require.Equal(rt, sorted(theirs.ListKeys()), sorted(ours.ListKeys()))
			require.Equal(rt, theirs.LastStoreSyncResourceVersion(), ours.LastStoreSyncResourceVersion())
			require.Equal(rt, received(deleted), received(ourDeleted))
		}
	})
}

func received(keys chan string) (all []string) {
	for len(keys) > 0 {
		all = append(all, <-keys)
	}
	return sorted(all)
}

func TestTTLStore_ForgetsWhatIsOlder(t *testing.T) {
	withBothStorages(t, func(t *testing.T, s storage) {
		synctest.Test(t, func(t *testing.T) {
			store := s.ttl(keyOfPod, time.Minute)
			pod := &corev1.Pod{}
			pod.Name = "x"
			require.NoError(t, store.Add(pod))
			<-time.After(time.Minute)
			require.Len(t, store.List(), 1)
			<-time.After(1)
			require.Equal(t, []string{"x"}, store.ListKeys())
			_, exists, err := store.GetByKey("x")
			require.NoError(t, err)
			require.False(t, exists)
			require.Empty(t, store.ListKeys())

			forever := s.ttl(keyOfPod, 0)
			require.NoError(t, forever.Add(pod))
			<-time.After(10000 * time.Hour)
			require.Len(t, forever.List(), 1)
		})
	})
}

func TestFakeExpirationStore_NeedsNoChannel(t *testing.T) {
	policy := &FakeExpirationPolicy{RetrieveKeyFunc: func(obj any) (string, error) {
		return keyOfPod(obj.(*TimestampedEntry).Obj)
	}}
	s := NewFakeExpirationStore(keyOfPod, nil, policy, clocktesting.NewFakeClock(time.Time{}))
	require.NoError(t, s.Add(&corev1.Pod{}))
	require.Empty(t, s.List())
	require.Empty(t, s.ListKeys())
}

func TestRetryWithDeadline_DoesWhatClientGosDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		clock := clocktesting.NewFakeClock(time.Unix(0, 0))
		unit := func(name string) time.Duration {
			return time.Duration(rapid.IntRange(-1, 3).Draw(rt, name)) * time.Second
		}
		s := spell{longest: unit("longest"), quiet: unit("quiet")}
		retryable := fmt.Errorf("retryable")
		judge := func(err error) bool { return err == retryable }
		theirs, ours := clientGoStorage.retry(s, judge, clock), ourStorage.retry(s, judge, clock)
		for range rapid.IntRange(10, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 4:
				theirs.After(retryable)
				ours.After(retryable)
			case 1:
				theirs.After(errKeyless)
				ours.After(errKeyless)
			case 2:
				clock.Step(time.Second)
			case 3:
				require.Equal(rt, theirs.ShouldRetry(), ours.ShouldRetry())
			}
		}
	})
}
