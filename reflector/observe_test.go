package reflector

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/listwatch"
)

// brief is an observation on one line.
func brief(o Observation) string {
	switch {
	case o.Boundary == StateEntered:
		return fmt.Sprint("entered ", o.State)
	case o.Op != "":
		return fmt.Sprint(o.Op, " ", o.ResourceVersion, " ", o.Keys)
	}
	text := map[Boundary]string{EventsDecoded: "decoded", HandedOver: "handed"}[o.Boundary]
	for _, ev := range o.Events {
		name := "-"
		if ev.Object != nil {
			name = ev.Object.GetName()
		}
		text += fmt.Sprint(" ", ev.Type, " ", name, "@", ev.ResourceVersion)
	}
	return text
}

// observed is a story in which all is written down that an observer is shown.
func observed(t *testing.T, opts Options, look func(o Observation), f func(h *harness, seen func() []string)) {
	var lines []string
	h := (*harness)(nil)
	opts.Observe = func(o Observation) {
		if look != nil {
			look(o)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		lines = append(lines, brief(o))
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
			"entered ListingStreaming",
			"decoded ADDED a@1", "decoded ADDED b@2", "decoded BOOKMARK -@2",
			"Replace 2 [ns/a ns/b]",
			"entered Watching",
		}, seen())
		h.gate.Lock()
		h.Put("c", "a", "b")
		h.Delete("c")
		h.Bookmark()
		h.gate.Unlock()
		require.Equal(t, []string{
			"decoded ADDED c@3", "handed ADDED c@3", // the room for a batch grows with what comes
			"decoded MODIFIED a@4 MODIFIED b@5", "handed MODIFIED a@4 MODIFIED b@5",
			"decoded DELETED c@6 BOOKMARK -@6", "handed DELETED c@6", "Bookmark 6 []",
		}, seen())
		h.DeleteSpoilt("a")
		h.set(func() { h.refuseStreaming = invalid() })
		h.BreakWatch(expired())
		h.Pass(time.Second)
		require.Equal(t, []string{
			"DeleteKey 7 [ns/a]",
			"entered BackingOff", "entered ListingStreaming", "entered ListingPaged",
			"Replace 7 [ns/b]",
			"entered Connecting", "entered Watching",
		}, seen())
	})
}

// The sink must not be ahead of what the observer was shown, or it could not be watched step by step.
func TestObserve_ComesBeforeTheSinkHasIt(t *testing.T) {
	ahead := 0
	var h *harness
	look := func(o Observation) {
		if o.Boundary < HandedOver {
			return
		}
		h.sink.mu.Lock()
		defer h.sink.mu.Unlock()
		for _, ev := range o.Events {
			if h.sink.view[listwatch.KeyOf(ev.Object)] == ev.ResourceVersion {
				ahead++
			}
		}
		if o.Op == "Replace" && len(h.sink.diary) > 0 {
			ahead++
		}
	}
	observed(t, Options{}, look, func(it *harness, seen func() []string) {
		h = it
		h.Put("a")
		h.Start()
		h.Put("a", "b")
		require.Contains(t, seen(), "handed MODIFIED a@2")
		require.Zero(t, ahead)
	})
}

func TestObserve_ABlockedObserverIsNoSilenceOfTheServer(t *testing.T) {
	block := func(o Observation) {
		if o.Boundary == EventsDecoded || o.State == ListingStreaming {
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
	observed(t, Options{}, func(o Observation) {
		if o.Boundary == EventsDecoded {
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
