package reflector

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/listwatch"
	"glasswatch/observe"
)

// brief is what an observer is shown at once, on one line.
func brief(seen []observation) string {
	text := string(seen[0].Step)
	for _, o := range seen {
		text += " " + o.Kind
		if o.Key != (listwatch.Key{}) {
			text += " " + o.Key.Name
		}
		if o.Version != "" {
			text += "@" + o.Version
		}
	}
	return text
}

// observed is a story in which all is written down that an observer is shown.
func observed(t *testing.T, opts Options, look func(seen []observation), f func(h *harness, seen func() []string)) {
	var lines []string
	h := (*harness)(nil)
	opts.Observe = func(seen []observation) {
		if look != nil {
			look(seen)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		lines = append(lines, brief(seen))
	}
	storyInBatches(t, opts, func(it *harness) {
		h = it
		f(h, func() []string {
			h.Settle()
			h.mu.Lock()
			defer h.mu.Unlock()
			defer func() { lines = nil }()
			return slices.Clone(lines)
		})
	})
}

func TestObserve_ShowsWhatPassesInOrder(t *testing.T) {
	observed(t, Options{}, nil, func(h *harness, seen func() []string) {
		h.Put("a", "b")
		h.Start()
		require.Equal(t, []string{
			"state ListingStreaming",
			"decoded ADDED a@1", "decoded ADDED b@2", "decoded BOOKMARK@2",
			"handed Replace@2 Replace a@1 Replace b@2",
			"state Watching",
		}, seen())
		h.gate.Lock()
		h.Put("c", "a", "b")
		h.Delete("c")
		h.Bookmark()
		h.gate.Unlock()
		require.Equal(t, []string{
			"decoded ADDED c@3 MODIFIED a@4 MODIFIED b@5 DELETED c@6 BOOKMARK@6",
			"handed Add c@3 Update a@4 Update b@5 Delete c@6", "handed Bookmark@6",
		}, seen())
		h.DeleteSpoilt("a")
		h.set(func() { h.refuseStreaming = invalid() })
		h.BreakWatch(expired())
		h.Pass(time.Second)
		require.Equal(t, []string{
			"handed DeleteKey a",
			"state BackingOff", "state ListingStreaming", "state ListingPaged",
			"handed Replace@7 Replace b@5",
			"state Connecting", "state Watching",
		}, seen())
	})
}

// The sink must not be ahead of what the observer was shown, or it could not be watched step by step.
func TestObserve_ComesBeforeTheSinkHasIt(t *testing.T) {
	ahead := 0
	var h *harness
	look := func(seen []observation) {
		if seen[0].Step != observe.Handed {
			return
		}
		h.sink.mu.Lock()
		defer h.sink.mu.Unlock()
		for _, o := range seen {
			if o.Key != (listwatch.Key{}) && h.sink.view[o.Key] == o.Version {
				ahead++
			}
		}
		if seen[0].Kind == "Replace" && len(h.sink.diary) > 0 {
			ahead++
		}
	}
	observed(t, Options{}, look, func(it *harness, seen func() []string) {
		h = it
		h.Put("a")
		h.Start()
		h.Put("a", "b")
		require.Contains(t, seen(), "handed Update a@2 Add b@3")
		require.Zero(t, ahead)
	})
}

func TestObserve_ABlockedObserverIsNoSilenceOfTheServer(t *testing.T) {
	block := func(seen []observation) {
		if seen[0].Step == observe.Decoded || seen[0].Kind == "ListingStreaming" {
			<-time.After(2 * time.Minute)
		}
	}
	observed(t, Options{SilenceTimeout: 10 * time.Second}, block, func(h *harness, seen func() []string) {
		h.Put("a", "b")
		h.set(func() { h.withholdEnd = true })
		h.Start()
		h.Pass(6*time.Minute + 9*time.Second)
		h.ExpectErrors()
		require.Equal(t, ListingStreaming, h.r.State())
		h.Pass(time.Second) // the server has been silent for 10 seconds now
		h.ExpectErrors(ErrSilent)
		require.Equal(t, Watching, h.r.State())
	})
	// A watch goes on where it was, however long it was stopped for.
	observed(t, Options{}, func(seen []observation) {
		if seen[0].Step == observe.Decoded {
			<-time.After(30 * time.Minute)
		}
	}, func(h *harness, seen func() []string) {
		h.Start()
		h.Pass(30 * time.Minute)
		h.Put("a", "b")
		h.Pass(4 * time.Hour)
		h.ExpectErrors()
		require.Len(t, h.sink.view, 2)
		h.BreakWatch(io.EOF)
	})
}
