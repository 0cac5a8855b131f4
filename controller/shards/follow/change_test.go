package follow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
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
	apiservertest.Pass(5 * time.Second)
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
				apiservertest.Pass(300 * time.Millisecond)
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

// However many are lost, in whatever order, what is left fits into the selectors.
func TestGroup_NoLossLeavesTooManyRanges(t *testing.T) {
	alone(t, 256, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(from(0, 255)...) })
		require.Len(w, m.configs.Sources(), 2)
		w.Requests(m)
		for _, first := range []int{64, 0, 128, 192} {
			w.Step(m, func() {
				for s := first; s < first+64; s += 2 {
					m.Lose(s)
				}
			})
			requests := w.Requests(m)
			require.NotEmpty(w, requests)
			require.Empty(w, lists(requests))
		}
		require.Len(w, m.configs.Sources(), 2)
	})
}

// The bound of the sources grows with what a member needs. So it does not list again and again what it has.
func TestGroup_AGainListsLittleAlsoIfSeveralSelectorsAreNeeded(t *testing.T) {
	alone(t, 1024, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(from(0, 999)...) })
		require.Len(w, m.configs.Sources(), 8)
		w.Requests(m)
		for s := 1000; s < 1010; s++ {
			w.Step(m, func() { m.Hold(s) })
			requests := lists(w.Requests(m))
			require.Len(w, requests, 1)
			require.Less(w, len(strings.Fields(requests[0])), 10, requests[0])
			require.LessOrEqual(w, len(m.configs.Sources()), 7+maxSources)
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
			apiservertest.Pass(110 * time.Millisecond)
		}
		w.Step(m, func() {})
		kept := slices.DeleteFunc(m.Told(), func(told string) bool {
			return !slices.Contains(want, told)
		})
		require.NotEmpty(w, want)
		require.Equal(w, want, kept)
	})
}
