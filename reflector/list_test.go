package reflector

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

func TestStreamingList_GoesOnAsTheWatch(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("b", "a")
		h.Start()
		h.ExpectSink("Replace 2 [a@2 b@1]")
		h.ExpectStates(ListingStreaming, Watching)
		q := h.requests[0].opts
		require.True(t, *q.SendInitialEvents)
		require.True(t, q.AllowWatchBookmarks)
		require.Equal(t, metav1.ResourceVersionMatchNotOlderThan, q.ResourceVersionMatch)
		h.Put("c")
		h.Delete("a")
		h.ExpectSink("Add c@3", "Delete a@4")
		h.ExpectVersion("4")
		h.ExpectRequests(`stream@""`)
		require.Equal(t, uint64(1), h.r.Stats().StreamingLists)
	})
}

// TestList_IsCountedBeforeTheSinkHasIt: who hears of it from the sink looks at Stats right away.
func TestList_IsCountedBeforeTheSinkHasIt(t *testing.T) {
	for _, paged := range []bool{false, true} {
		story(t, Options{DisableStreamingList: paged}, func(h *harness) {
			h.Put("b", "a")
			var stats Stats
			h.sink.onReplace = func() { stats = h.r.Stats() }
			h.Start()
			h.ExpectSink("Replace 2 [a@2 b@1]")
			require.Equal(t, uint64(1), stats.StreamingLists+stats.PagedLists)
			require.Equal(t, uint64(2), stats.ListedObjects)
		})
	}
}

func TestStreamingList_TakesChangesThatHappenMeanwhile(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a", "b", "c")
		h.set(func() { h.withholdEnd = true })
		h.Start()
		h.Put("b", "d")
		h.Delete("a")
		h.ExpectSink()
		h.Send(listwatch.EventType(9), "e", 6) // of unknown type
		h.send(result{ev: listwatch.Event[object]{Type: listwatch.Bookmark, ResourceVersion: "6", InitialEventsEnd: true}})
		h.ExpectSink("Replace 6 [b@4 c@3 d@5]")
		h.ExpectErrors()
	})
}

// A paged list tells which objects cannot be read, and the sink keeps them.
func TestStreamingList_UnreadableObjectFallsBackToPages(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.Spoil("b")
		h.Start()
		h.ExpectSink("Replace 2 [a@1] keep [b]")
		h.ExpectRequests(`stream@""`, `list@"0" limit=500`, `watch@"2"`)
	})
}

func TestStreamingList_RefusedFallsBackToPagesForAnHour(t *testing.T) {
	for _, refusal := range []error{invalid(), apierrors.NewBadRequest("what?"), apierrors.NewMethodNotSupported(things, "watch")} {
		story(t, Options{}, func(h *harness) {
			h.Put("a")
			h.set(func() { h.refuseStreaming = refusal })
			h.Start()
			h.ExpectRequests(`stream@""`, `list@"0" limit=500`, `watch@"1"`)
			h.ExpectSink("Replace 1 [a@1]")
			h.ExpectErrors() // it is no error
			h.ExpectStates(ListingStreaming, ListingPaged, Connecting, Watching)

			h.set(func() { h.refuseStreaming = nil })
			h.Pass(58 * time.Minute) // watches come and go
			h.Forget()
			h.BreakWatch(expired())
			h.Pass(time.Second)
			h.ExpectRequests(`list@"1"`, `watch@"1"`)
			h.Pass(3 * time.Minute)
			h.BreakWatch(expired())
			h.Pass(time.Second)
			h.ExpectRequests(`stream@"1"`)
		})
	}
}

func TestStreamingList_SilenceFallsBackToPages(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.set(func() { h.withholdEnd = true })
		h.Start()
		// Each event starts the time anew: two minutes pass, and none of them is silent.
		for range 6 {
			h.Pass(20 * time.Second)
			h.Put("a")
		}
		h.Pass(29 * time.Second)
		h.ExpectRequests(`stream@""`)
		require.Equal(t, ListingStreaming, h.r.State())
		h.ExpectErrors()
		h.Pass(time.Second)
		h.ExpectErrors(ErrSilent)
		h.ExpectRequests(`list@"0" limit=500`, `watch@"7"`)
		h.ExpectSink("Replace 7 [a@7]")
		require.NoError(t, h.r.LastError())
		h.Forget()
		h.BreakWatch(expired())
		h.Pass(time.Second)
		h.ExpectRequests(`list@"7"`, `watch@"7"`) // remembered
	})
}

// Such a server is past the initial events, does not say so, and would go on like this until the watch's time is up.
func TestStreamingList_BookmarksThatEndNothingDoNotKeepItFromFallingBackToPages(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.set(func() { h.withholdEnd = true })
		h.Start()
		for range 6 {
			h.Pass(5 * time.Second)
			h.Bookmark()
		}
		h.ExpectErrors(ErrSilent)
		h.ExpectRequests(`stream@""`, `list@"0" limit=500`, `watch@"1"`)
		h.ExpectSink("Replace 1 [a@1]", "Bookmark 1")
	})
}

// A bookmark that comes late is no lie, but a watch from it would play history again.
func TestStreamingList_AnEndThatComesLateDoesNotPlayHistoryAgain(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a", "b")
		h.set(func() { h.withholdEnd = true })
		h.Start()
		h.Put("a")
		h.Put("a")
		h.send(result{ev: listwatch.Event[object]{Type: listwatch.Bookmark, ResourceVersion: "2", InitialEventsEnd: true}})
		h.ExpectSink("Replace 4 [a@4 b@2]")
		h.ExpectVersion("4")
		h.BreakWatch(io.ErrUnexpectedEOF)
		h.Settle()
		h.ExpectRequests(`stream@""`, `watch@"4"`)
		h.Put("a")
		h.ExpectSink("Update a@5")
	})
}

func TestStreamingList_WithoutAnAnswerFallsBackToPages(t *testing.T) {
	story(t, Options{SilenceTimeout: 10 * time.Second}, func(h *harness) {
		h.set(func() { h.hang = true })
		h.Start()
		h.Pass(10*time.Second - 1)
		h.ExpectRequests(`stream@""`)
		h.set(func() { h.hang = false })
		h.Pass(1)
		h.ExpectErrors(ErrSilent)
		h.ExpectRequests(`list@"0" limit=500`, `watch@"0"`)
		h.BreakWatch(expired()) // the server was slow, which says nothing about streaming lists
		h.Pass(time.Second)
		h.ExpectRequests(`stream@"0"`)
	})
}

func TestStreamingList_ThatEndsEarlyFallsBackToPagesOnce(t *testing.T) {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, internal()} {
		story(t, Options{}, func(h *harness) {
			h.Put("a")
			h.set(func() { h.withholdEnd = true })
			h.Start()
			h.set(func() { h.withholdEnd = false })
			h.BreakWatch(end)
			h.ExpectSink("Replace 1 [a@1]")
			h.ExpectRequests(`stream@""`, `list@"0" limit=500`, `watch@"1"`)
			h.Forget()
			h.BreakWatch(expired())
			h.Pass(time.Second)
			h.ExpectRequests(`stream@"1"`)
		})
	}
}

func TestList_WithoutItsVersionIsAskedForAtTheLatest(t *testing.T) {
	for _, unavailable := range []error{expired(), &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonGone, Message: "gone"}}, tooLarge(), timeoutTooLarge("")} {
		story(t, Options{}, func(h *harness) {
			h.Put("a")
			h.Start()
			h.set(func() { h.failStreams = []error{unavailable} })
			h.Forget()
			h.BreakWatch(expired())
			h.Pass(800 * time.Millisecond)
			h.ExpectRequests(`stream@"1"`, `stream@""`)
			h.ExpectSink("Replace 1 [a@1]")
			h.BreakWatch(expired()) // the list healed it: the next one is at the known version again
			h.Pass(1600 * time.Millisecond)
			h.ExpectRequests(`stream@"1"`)
		})
		story(t, Options{DisableStreamingList: true}, func(h *harness) {
			h.Put("a")
			h.Start()
			h.ExpectRequests(`list@"0" limit=500`, `watch@"1"`)
			h.set(func() { h.failLists = []error{unavailable} })
			h.BreakWatch(expired())
			h.Pass(800 * time.Millisecond)
			h.ExpectRequests(`list@"1"`, `list@"" limit=500`, `watch@"1"`)
			h.Stop()
			h.Start() // and so here
			h.ExpectRequests(`list@"1"`, `watch@"1"`)
		})
	}
}

func TestList_OfARestoredBackupSetsTheVersionBack(t *testing.T) {
	for _, opts := range []Options{{}, {DisableStreamingList: true}} {
		story(t, opts, func(h *harness) {
			h.Put("a", "b", "c")
			h.Start()
			h.Forget()
			h.Rewind(2)
			h.Pass(time.Second)
			h.ExpectSink("Replace 1 [a@1]")
			h.ExpectVersion("1")
			h.Put("d")
			h.ExpectSink("Add d@2")
		})
	}
}

func TestResumeFrom_StartsWithAWatch(t *testing.T) {
	story(t, Options{ResumeFrom: "1"}, func(h *harness) {
		h.Put("a", "b")
		h.Start()
		h.ExpectRequests(`watch@"1"`)
		h.ExpectSink("Add b@2")
	})
	story(t, Options{ResumeFrom: "1"}, func(h *harness) {
		h.Put("a", "b")
		h.Compact()
		h.Start()
		h.Pass(time.Second)
		h.ExpectRequests(`watch@"1"`, `stream@"1"`)
		h.ExpectSink("Replace 2 [a@1 b@2]")
	})
}

func TestStreamingList_WhoseEndHasNoVersionFallsBackToPages(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.set(func() { h.withholdEnd = true })
		h.Start()
		h.send(result{ev: listwatch.Event[object]{Type: listwatch.Bookmark, InitialEventsEnd: true}})
		h.ExpectErrors(ErrEndedEarly)
		h.ExpectSink("Replace 1 [a@1]")
	})
}
