package reflector

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"glasswatch/listwatch"
)

func TestBatch_GoesToTheSinkInOrderBetweenWhatIsNoChange(t *testing.T) {
	storyInBatches(t, Options{}, func(h *harness) {
		h.Put("a", "b")
		h.Start()
		h.Forget()
		h.gate.Lock()
		h.Put("a", "c", "d")
		h.Spoil("e")
		h.Delete("b")
		h.Put("f")
		h.gate.Unlock()
		h.ExpectSink("Update a@3", "Add c@4", "Add d@5", "Delete b@7", "Add f@8")
		h.ExpectErrors(errors.New(`"ns/e" at resourceVersion 6`))
		h.ExpectVersion("8")
		require.EqualValues(t, 5, h.r.Stats().Events)
		h.Forget()

		h.gate.Lock()
		h.Put("a", "c")
		h.Bookmark()
		h.Send(17, "x", 11) // of unknown type
		h.Send(listwatch.Added, "x", 12)
		h.gate.Unlock()
		h.ExpectSink("Update a@9", "Update c@10", "Bookmark 10", "Add x@12")
		h.ExpectErrors()
		h.ExpectVersion("12")
	})
}

func TestBatch_EndsBeforeAnEventOfAnOlderServer(t *testing.T) {
	storyInBatches(t, Options{}, func(h *harness) {
		h.Put("a", "b", "c")
		h.Start()
		h.Forget()
		h.gate.Lock()
		h.Put("a", "a", "a", "b")
		h.Send(listwatch.Modified, "c", 1)
		h.Put("c")
		h.gate.Unlock()
		h.Pass(time.Minute)
		h.ExpectSink("Update a@4", "Update a@5", "Update a@6", "Update b@7", "Replace 8 [a@6 b@7 c@8]")
		h.ExpectErrors(ErrRewound)
	})
}

func TestBatch_AnErrorOfTheSinkNamesTheObjectAndCostsNoOther(t *testing.T) {
	storyInBatches(t, Options{}, func(h *harness) {
		h.Start()
		h.set(func() { h.sink.fail["Update"] = errors.New("full") })
		h.gate.Lock()
		h.Put("a", "b", "a", "b")
		h.Delete("a")
		h.gate.Unlock()
		h.Settle()
		require.Len(t, h.sink.view, 1)
		h.ExpectErrors(errors.New(`sink refused Update of "ns/a": full`), errors.New(`sink refused Update of "ns/b": full`))
		require.EqualValues(t, 2, h.r.Stats().SinkErrors)
		h.ExpectVersion("5")
	})
}

func TestBatch_VersionIsTakenOverOnceTheSinkHasIt(t *testing.T) {
	storyInBatches(t, Options{}, func(h *harness) {
		h.Put("a")
		h.Start()
		var during []string
		h.sink.onBatch = func() { during = append(during, h.r.LastSyncResourceVersion()) }
		for _, version := range []string{"3", "5"} {
			h.gate.Lock()
			h.Put("a", "a")
			h.gate.Unlock()
			h.ExpectVersion(version)
		}
		require.Equal(t, []string{"1", "3"}, during)
		for _, left := range h.r.current.stream.room {
			require.Zero(t, left, "what was passed on must not be kept")
		}
	})
}

// TestBatch_IsWhatItsEventsAreOneByOne plays histories with several events between two looks, and compares all that can be
// seen of the reflector with what it does without batches.
func TestBatch_IsWhatItsEventsAreOneByOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		opts := Options{DisableStreamingList: rapid.Bool().Draw(rt, "paged"), MinWatchTimeout: 24 * time.Hour,
			ResumeFrom: rapid.SampledFrom([]string{"", "0"}).Draw(rt, "from")}
		history := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawDeed), 1, 12), 1, 12).Draw(rt, "history")
		play := func(batches bool) (seen string) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, opts, batches)
				h.Start()
				for _, deeds := range history {
					h.doAll(deeds)
					seen += h.seen()
				}
				h.Stop()
			})
			return seen
		}
		require.Equal(rt, play(false), play(true))
	})
}

// doAll plays those of the deeds that happen at once: nothing of them comes out of a stream before all have happened.
func (h *harness) doAll(deeds []deed) {
	h.gate.Lock()
	for _, d := range deeds {
		h.happen(d)
	}
	h.gate.Unlock()
	h.Pass(time.Minute)
}

// seen is all that happened, and forgets it.
func (h *harness) seen() string {
	defer h.Forget()
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprintf("%q\n%v\n%v\n%v\n%+v %s\n", h.sink.diary, h.errs, h.states, h.Requests(), h.r.Stats(), h.r.LastSyncResourceVersion())
}

func TestBatch_IsBoundedHoweverMuchHasCome(t *testing.T) {
	storyInBatches(t, Options{}, func(h *harness) {
		h.Start()
		var during []string
		h.sink.onBatch = func() { during = append(during, h.r.LastSyncResourceVersion()) }
		h.gate.Lock()
		h.Put(slices.Repeat([]string{"a"}, 2*maxBatch)...)
		h.gate.Unlock()
		h.Settle()
		require.Equal(t, []string{"0", strconv.Itoa(maxBatch)}, during)
	})
}
