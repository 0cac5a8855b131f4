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
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
)

// alone plays a story of one member that holds what the story says, on servers that know shards and that do not, with
// streaming lists and without.
func alone(t *testing.T, of int, play func(w *world, m *member)) {
	for _, paged := range []bool{false, true} {
		for _, off := range []bool{false, true} {
			aloneWith(t, of, paged, off, play)
		}
	}
}

func aloneWith(t *testing.T, of int, paged, off bool, play func(w *world, m *member)) {
	t.Run(fmt.Sprintf("paged=%v/off=%v", paged, off), func(t *testing.T) {
		inWorld(t, shard.UID, apiserver.Options{DisableShards: off}, func(w *world) {
			play(w, w.Alone("a", func(m *member) { m.paged, m.of = paged, of }))
		})
	})
}

// Step lets a change take place, and wants the member to have followed it without an error.
func (w *world) Step(m *member, change func()) {
	w.Helper()
	change()
	w.Pass(5 * time.Second)
	w.ExpectFollows(m)
	require.NoError(w, m.configs.LastError())
	m.mu.Lock()
	defer m.mu.Unlock()
	require.Empty(w, m.failures)
}

func from(first, last int) (shards []int) {
	for s := first; s <= last; s++ {
		shards = append(shards, s)
	}
	return shards
}

// lists returns those of the requests that are lists.
func lists(requests []string) (lists []string) {
	for _, request := range requests {
		if strings.HasPrefix(request, "list") || strings.HasPrefix(request, "stream") {
			lists = append(lists, request)
		}
	}
	return lists
}

// A watch from the same version with the selector of what is kept is all that a loss costs. The handler is told that
// what the lost shards have is deleted, and of nothing else.
func TestGroup_ALossIsAWatchAndNoList(t *testing.T) {
	alone(t, 16, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(from(0, 15)...) })
		w.Touch("c-shop", "c1")
		w.Requests(m)
		m.Told()
		lost := w.Objects(m, func(s int) bool { return 3 <= s && s <= 7 })
		require.NotEmpty(w, lost)
		version := m.configs.Sources()[0].ResourceVersion
		w.Step(m, func() { m.Lose(3, 4, 5, 6, 7) })
		require.Equal(w, []string{fmt.Sprintf("watch from %s [0 1 2 8 9 10 11 12 13 14 15]", version)}, w.Requests(m))
		var want []string
		for key, version := range lost {
			want = append(want, "delete "+key.String()+" "+version)
		}
		require.ElementsMatch(w, want, m.Told())
	})
}

// Losses that follow each other do not make watches so short that the reflector takes them for failures, and lists.
func TestGroup_LossesInARowAreNoFailures(t *testing.T) {
	alone(t, 16, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(from(0, 15)...) })
		w.Requests(m)
		w.Step(m, func() {
			for s := range 10 {
				m.Lose(s)
				w.Pass(300 * time.Millisecond)
			}
		})
		requests := w.Requests(m)
		require.Empty(w, lists(requests))
		require.Greater(w, len(requests), 1)
		require.Zero(w, m.configs.Sources()[0].Reflector.ShortWatches)
	})
}

// A shard that is lost, and got again before the member has done anything about it, is listed anew.
func TestGroup_AShardThatIsLostAndGotAtOnceIsListedAgain(t *testing.T) {
	alone(t, 16, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(from(0, 15)...) })
		w.Requests(m)
		w.Step(m, func() { m.Lose(3); m.Hold(3) })
		require.Len(w, lists(w.Requests(m)), 1)
		require.Len(w, m.listed, 17)
	})
}

// All that a member has is lost, and got again.
func TestGroup_LosesAllAndGetsAll(t *testing.T) {
	alone(t, 16, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(from(0, 15)...) })
		w.Step(m, func() { m.Lose(from(0, 15)...) })
		require.Empty(w, versions(m))
		require.Empty(w, m.configs.Sources())
		w.Step(m, func() { m.Hold(from(2, 9)...) })
		require.NotEmpty(w, versions(m))
	})
}

// More gains than sources: what is new is listed, and what the smallest source has. The others go on.
func TestGroup_AGainListsTheSmallestSourceAtMost(t *testing.T) {
	alone(t, 16, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(from(0, 5)...) })
		w.Step(m, func() { m.Hold(6, 7) })
		w.Step(m, func() { m.Hold(8) })
		w.Step(m, func() { m.Hold(9, 10) })
		require.Len(w, m.configs.Sources(), maxSources)
		w.Requests(m)
		m.Told()
		w.Step(m, func() { m.Hold(11) })
		requests := lists(w.Requests(m))
		require.Len(w, requests, 1)
		require.Contains(w, requests[0], "[8 11]")
		require.Len(w, m.configs.Sources(), maxSources)
		require.Len(w, m.Told(), len(w.Objects(m, func(s int) bool { return s == 11 })), "only of what is new")
	})
}

// What does not fit into one selector is listed anew in two, and losses do not make more and more sources.
func TestGroup_TooManyRangesAreListedInSeveralSources(t *testing.T) {
	alone(t, 256, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(from(0, 255)...) })
		w.Requests(m)
		for s := 0; s < 256; s += 4 {
			m.Lose(s)
		}
		w.Step(m, func() {})
		require.Len(w, m.configs.Sources(), 1, "of 64 ranges")
		require.Empty(w, lists(w.Requests(m)))
		w.Step(m, func() { m.Lose(2) })
		require.Len(w, m.configs.Sources(), 2, "of 65 ranges")
		require.Len(w, lists(w.Requests(m)), 2)
		for s := 6; s < 50; s += 4 {
			w.Step(m, func() { m.Lose(s) })
			require.LessOrEqual(w, len(m.configs.Sources()), maxSources+1)
		}
	})
}

// While a member loses shards, each version of what it keeps is told, in order and once.
func TestGroup_NoEventIsLostWhileShardsAre(t *testing.T) {
	alone(t, 16, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(from(0, 15)...) })
		m.Told()
		var want []string
		for n := range 60 {
			if n%6 == 0 {
				m.Lose(n / 6)
			}
			obj := w.Touch(fmt.Sprintf("%c-shop", 'a'+n%6), fmt.Sprintf("c%d", n/6%5))
			if m.Of(obj) >= 10 {
				want = append(want, "update "+listwatch.KeyOf(obj).String()+" "+obj.ResourceVersion)
			}
			w.Pass(110 * time.Millisecond)
		}
		w.Step(m, func() {})
		kept := slices.DeleteFunc(m.Told(), func(told string) bool {
			return !slices.Contains(want, told)
		})
		require.NotEmpty(w, want)
		require.Equal(w, want, kept)
	})
}

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
		w.Step(m, func() { m.Lose(lost...); w.Pass(10 * time.Second) })
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
			w.Pass(3 * time.Second)
			goOn()
			w.Step(m, func() { w.Pass(time.Minute) })
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
		w.Pass(time.Second)
		m.Lose(0)
		w.Pass(5 * time.Second)
		goOn()
		w.Pass(time.Minute)
		w.ExpectFollows(m)
		w.Delete(old.GetNamespace(), old.GetName())
		w.Pass(2 * time.Minute)
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
			w.Pass(3 * time.Second)
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
			w.server.Faults().Compact()
			w.server.Faults().ExpireWatches()
			synctest.Wait()
			goOn := m.Stall(func(query string) bool {
				isList := strings.Contains(query, "sendInitialEvents") || !strings.Contains(query, "watch")
				return isList && strings.Contains(query, "0x0000000000000000")
			})
			w.Pass(wait) // the list begins after one to two seconds
			w.ExpectListedWithout(m, stale)
			m.Lose(1)
			w.Pass(3 * time.Second)
			w.Delete(stale.GetNamespace(), stale.GetName())
			m.Hold(1)
			w.Pass(5 * time.Second)
			goOn()
			w.Pass(20 * time.Second)
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
