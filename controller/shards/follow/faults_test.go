package follow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/extent"
)

// misfortunes are what can happen to lists and watches. Each ends with Faults.Reset and Set.
var misfortunes = map[string]func(w *world, m *member, f *apiserver.Faults){
	"watches end":    func(_ *world, _ *member, f *apiserver.Faults) { f.DropWatches() },
	"watches break":  func(_ *world, _ *member, f *apiserver.Faults) { f.BreakWatches() },
	"watches expire": func(_ *world, _ *member, f *apiserver.Faults) { f.Compact(); f.ExpireWatches() },
	"frame is cut":   func(w *world, _ *member, f *apiserver.Faults) { f.CutNextFrame(); w.Touch("a-shop", "c0") },
	"frame is garbage": func(w *world, _ *member, f *apiserver.Faults) {
		f.GarbleNextFrame()
		w.Touch("a-shop", "c0")
	},
	"watches are refused": fails(503, "watch"),
	"watches fail":        fails(500, "watch"),
	"watches are no more": fails(410, "watch"),
	"server is busy":      fails(429, "watch", "list"),
	"no answer":           fails(0, "watch", "list"),
	"server is slow":      func(_ *world, _ *member, f *apiserver.Faults) { f.Delay(3 * time.Second); f.DropWatches() },
	"no streaming lists": func(_ *world, _ *member, f *apiserver.Faults) {
		f.RefuseStreamingLists(true)
		f.Compact()
		f.ExpireWatches()
	},
	"lists do not end": func(_ *world, _ *member, f *apiserver.Faults) {
		f.NeverSendInitialBookmark(true)
		f.Compact()
		f.ExpireWatches()
	},
	"cut off": func(_ *world, m *member, f *apiserver.Faults) { m.Set(func() { m.cutOff = true }); f.BreakWatches() },
}

func fails(code int, verbs ...string) func(*world, *member, *apiserver.Faults) {
	return func(_ *world, _ *member, f *apiserver.Faults) {
		for _, verb := range verbs {
			f.FailNext(3, apiserver.Failure{Verb: verb, Resource: "configmaps", Code: code})
		}
		f.DropWatches()
	}
}

// A member follows what it gains and loses, whatever goes wrong, before its watch is cut, at that moment or after it.
func TestGroup_FollowsItsShardsThroughFaults(t *testing.T) {
	for name, happen := range misfortunes {
		t.Run(name, func(t *testing.T) {
			cut := gatherFor
			for n, at := range extent.Some(2, []time.Duration{-2 * time.Second, cut, 0, cut + 1, 2 * cut, time.Second}) {
				aloneWith(t, 16, n%2 == 0, n%4 < 2, func(w *world, m *member) {
					w.Step(m, func() { m.Hold(from(0, 11)...) })
					change := func() { m.Lose(3, 4, 5); m.Hold(12, 13) }
					if at < 0 {
						happen(w, m, w.Faults())
						apiservertest.Pass(-at)
						change()
					} else {
						change()
						<-time.After(at)
						happen(w, m, w.Faults())
					}
					w.Delete("a-shop", "c1")
					w.Touch("b-shop", "c2")
					apiservertest.Pass(time.Second)
					m.Lose(0, 1)
					apiservertest.Pass(20 * time.Second)
					w.Put("c-shop", "new")
					w.Faults().Reset()
					m.Set(func() { m.cutOff = false })
					apiservertest.Pass(3 * time.Minute)
					w.ExpectFollows(m)
				})
			}
		})
	}
}

// A loss while the server takes its time to answer a watch is no failure, and makes no list.
func TestGroup_ALossWhileAWatchOpensIsNoFailure(t *testing.T) {
	alone(t, 16, func(w *world, m *member) {
		w.Step(m, func() { m.Hold(from(0, 15)...) })
		w.Requests(m)
		w.Faults().Delay(4 * time.Second)
		w.Faults().DropWatches()
		apiservertest.Pass(time.Second / 2)
		require.Len(w, w.Requests(m), 1, "the watch that is under way")
		m.Lose(3)
		apiservertest.Pass(2 * time.Second)
		w.Faults().Delay(0)
		w.Step(m, func() { apiservertest.Pass(5 * time.Second) })
		require.Equal(w, 1, len(w.Requests(m)), "only the narrower watch")
	})
}
