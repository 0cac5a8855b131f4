package follow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
)

// What was read when a shard is lost may not be in the store yet. It is deleted all the same.
func TestGroup_ALossWaitsForTheStore(t *testing.T) {
	alone(t, 16, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(from(0, 15)...) })
		m.mu.Lock()
		m.beforePut = func(key listwatch.Key) {
			if strings.HasPrefix(key.Name, "late") {
				<-time.After(time.Second)
			}
		}
		m.mu.Unlock()
		var lost []int
		for n := range 3 {
			lost = append(lost, m.Of(w.Put("a-shop", fmt.Sprintf("late%d", n))))
		}
		w.Step(m, func() { m.Lose(lost...); apiservertest.Pass(10 * time.Second) })
	})
}

// An object of a lost shard that is made again in one that is kept stays. Nothing hides it, and it hides nothing.
func TestGroup_AnObjectThatIsMadeAgainInAKeptShardStays(t *testing.T) {
	for _, first := range []bool{true, false} {
		alone(t, 2, func(w *world, m *member) {
			w.Step(m, func() { m.Hold(0, 1) })
			old := w.PutIn(m, 0, "phoenix")
			w.Step(m, func() {})
			goOn := m.Stall(func(string) bool { return true })
			if first {
				m.Lose(0)
			}
			w.Delete(old.GetNamespace(), old.GetName())
			w.PutIn(m, 1, "phoenix")
			if !first {
				m.Lose(0)
			}
			apiservertest.Pass(3 * time.Second)
			goOn()
			w.Step(m, func() { apiservertest.Pass(time.Minute) })
			require.Contains(w, versions(m), listwatch.KeyOf(old))
		})
	}
}

// PutIn makes an object of a shard. It may take several trials, as the server chooses UIDs.
func (w *world) PutIn(m *member, shard int, name string) *corev1.ConfigMap {
	w.Helper()
	for {
		obj := w.Put("a-shop", name)
		if m.Of(obj) == shard {
			return obj
		}
		w.Delete("a-shop", name)
	}
}

// The source that loses a shard is late: it has an object of it whose key is another object by now, which another
// source has brought. The loss lists, as the store does not show what the source has.
func TestGroup_ALossFindsWhatTheStoreDoesNotShow(t *testing.T) {
	alone(t, 4, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(0, 1) })
		w.Step(m, func() { m.Hold(2, 3) })
		old := w.PutIn(m, 0, "phoenix")
		w.Step(m, func() {})
		goOn := m.Stall(func(query string) bool { return strings.Contains(query, "0x0000000000000000") })
		w.Delete(old.GetNamespace(), old.GetName())
		w.PutIn(m, 3, "phoenix")
		apiservertest.Pass(time.Second)
		m.Lose(0)
		apiservertest.Pass(5 * time.Second)
		goOn()
		apiservertest.Pass(time.Minute)
		w.ExpectFollows(m)
		w.Delete(old.GetNamespace(), old.GetName())
		apiservertest.Pass(2 * time.Minute)
		w.ExpectFollows(m)
	})
}

// ExpectListedWithout wants an object not to be in the store when its shard is listed.
func (w *world) ExpectListedWithout(m *member, obj *corev1.ConfigMap) {
	m.Set(func() {
		m.onListed = func(shards []int) {
			_, there := m.configs.Store().GetByKey(listwatch.KeyOf(obj))
			require.False(w, there && slices.Contains(shards, m.Of(obj)), "listed with what another member deleted")
		}
	})
}

// A source is late when a shard is lost and got again: it still has what another member deleted. The shard is not
// listed before that has left the store, whether the source goes on with less or goes altogether.
func TestGroup_AShardThatComesBackHasNothingOfBefore(t *testing.T) {
	for _, lost := range [][]int{{1}, {0, 1}} {
		alone(t, 4, func(w *world, m *member) {
			w.Step(m, func() { m.Hold(0, 1) })
			stale := w.PutIn(m, 1, "stale")
			w.Step(m, func() {})
			goOn := m.Stall(func(query string) bool {
				return strings.Contains(query, "0x0000000000000000") && strings.Contains(query, "resourceVersion=")
			})
			w.Delete(stale.GetNamespace(), stale.GetName())
			m.Set(func() {
				m.beforePut = func(listwatch.Key) { <-time.After(time.Second / 10) }
			})
			w.ExpectListedWithout(m, stale)
			m.Lose(lost...)
			m.Hold(lost...)
			apiservertest.Pass(3 * time.Second)
			goOn()
			w.Step(m, func() {})
		})
	}
}

// A list takes over a loss, whether it was under way or begins after it. It is not cut, and the shard is not listed
// again before the list has shown that its objects are gone.
func TestGroup_ALossDuringAListWaitsForIt(t *testing.T) {
	for _, wait := range []time.Duration{time.Second / 10, 3 * time.Second} {
		alone(t, 4, func(w *world, m *member) {
			w.Step(m, func() { m.Hold(0, 1) })
			stale := w.PutIn(m, 1, "stale")
			w.Step(m, func() {})
			w.Faults().Compact()
			w.Faults().ExpireWatches()
			synctest.Wait()
			goOn := m.Stall(func(query string) bool {
				isList := strings.Contains(query, "sendInitialEvents") || !strings.Contains(query, "watch")
				return isList && strings.Contains(query, "0x0000000000000000")
			})
			apiservertest.Pass(wait) // the list begins after one to two seconds
			w.ExpectListedWithout(m, stale)
			m.Lose(1)
			apiservertest.Pass(3 * time.Second)
			w.Delete(stale.GetNamespace(), stale.GetName())
			m.Hold(1)
			apiservertest.Pass(5 * time.Second)
			goOn()
			apiservertest.Pass(20 * time.Second)
			w.ExpectFollows(m)
			for _, err := range m.failures {
				require.True(w, apierrors.IsResourceExpired(err), err.Error())
			}
		})
	}
}

// A watch that ends in the middle of its deletions is followed by one that begins with all of them. The loss is told
// when the last one was taken over.
func TestFeed_DeletionsThatWereCutShortComeAgain(t *testing.T) {
	inWorld(t, shard.UID, apiserver.Options{}, func(w *world) {
		m := w.Alone("a", nil)
		w.Step(m, func() { m.Hold(from(0, 15)...) })
		had := m.configs.feeds["1"]
		f := &feed[*corev1.ConfigMap]{name: "1", informer: m.configs, sel: had.sel, lw: had.lw}
		narrowed := make(chan error, 1)
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		go func() {
			narrowed <- f.narrow(ctx, shard.Selector{Field: shard.UID, Ranges: m.ranges(from(0, 3))})
		}()
		synctest.Wait()
		lost := len(w.Objects(m, func(s int) bool { return s > 3 }))
		require.Greater(w, lost, 3)
		opts := metav1.ListOptions{ResourceVersion: m.configs.Sources()[0].ResourceVersion}
		cutShort, err := f.Watch(ctx, opts)
		require.NoError(w, err)
		into := make([]listwatch.Event[*corev1.ConfigMap], lost-1)
		n, err := cutShort.(listwatch.BatchStream[*corev1.ConfigMap]).NextBatch(into)
		require.NoError(w, err)
		require.Equal(w, lost-1, n)
		require.NoError(w, cutShort.Close())
		require.Error(w, cutShort.(*stream[*corev1.ConfigMap]).watching.Err(), "its context is freed")
		whole, err := f.Watch(ctx, opts)
		require.NoError(w, err)
		for range lost {
			require.Empty(w, narrowed)
			ev, err := whole.Next()
			require.NoError(w, err)
			require.Equal(w, listwatch.Deleted, ev.Type)
			require.Empty(w, ev.ResourceVersion, "the watch does not move on with it")
			stored, _ := m.configs.Store().GetByKey(listwatch.KeyOf(ev.Object))
			require.Equal(w, stored, ev.Object)
			require.NotSame(w, stored, ev.Object, "the receiver may write to it")
			synctest.Wait()
		}
		go func() { _, _ = whole.Next() }()
		require.NoError(w, <-narrowed)
		require.NoError(w, whole.Close())
	})
}

// The store does not show an object that Transform refuses. So a loss lists, once, and then the group goes on.
func TestGroup_ABadObjectDoesNotHoldTheOthersUp(t *testing.T) {
	for _, paged := range []bool{false, true} {
		t.Run(fmt.Sprintf("paged=%v", paged), func(t *testing.T) {
			inWorld(t, shard.UID, apiserver.Options{}, func(w *world) {
				m := w.Alone("a", func(m *member) { m.paged, m.bad = paged, "bad" })
				m.Hold(from(0, 11)...)
				apiservertest.Pass(5 * time.Second)
				for m.Of(w.Put("a-shop", "bad")) > 2 { // of a shard that stays
					w.Delete("a-shop", "bad")
				}
				apiservertest.Pass(5 * time.Second)
				m.Lose(5)
				apiservertest.Pass(time.Second)
				m.Hold(12)
				apiservertest.Pass(10 * time.Second)
				require.True(t, m.Listed(12))
				require.False(t, m.Listed(5))
			})
		})
	}
}

func TestGroup_AShardThatIsLostAndGotAtOnceIsNotListedMeanwhile(t *testing.T) {
	inWorld(t, shard.UID, apiserver.Options{}, func(w *world) {
		m := w.Alone("a", nil)
		m.Hold(3)
		apiservertest.Pass(5 * time.Second)
		require.True(t, m.Listed(3))
		m.note(map[int]time.Time{3: time.Now()}, []int{3})
		require.False(t, m.Listed(3))
		apiservertest.Pass(5 * time.Second)
		require.True(t, m.Listed(3))
	})
}
