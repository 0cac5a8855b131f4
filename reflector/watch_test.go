package reflector

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"glasswatch/listwatch"
)

func refused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("connect: %w", syscall.ECONNREFUSED)}
}

func TestWatch_ResumesAtTheLastVersionWithoutAList(t *testing.T) {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, fmt.Errorf("read: %w", syscall.ECONNRESET)} {
		story(t, Options{}, func(h *harness) {
			h.Put("a")
			h.Start()
			h.Put("b")
			h.Pass(time.Minute)
			h.Forget()
			h.BreakWatch(end)
			h.Put("c") // nobody is watching perhaps
			h.ExpectRequests(`watch@"2"`)
			h.ExpectSink("Add c@3")
			h.ExpectStates(Connecting, Watching)
			require.NoError(t, h.r.LastError())
		})
	}
}

func TestWatch_ExpiredIsAnsweredByAList(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a", "b")
		h.Start()
		h.Forget()
		h.set(func() { h.failWatches = []error{refused()} })
		h.BreakWatch(io.EOF)
		h.Settle()
		h.Delete("a") // a deletion that no watch will tell of
		h.Skip(5)
		h.Compact()
		h.Pass(3 * time.Second)
		h.ExpectStates(Connecting, BackingOff, Connecting, BackingOff, ListingStreaming, Watching)
		h.ExpectRequests(`watch@"2"`, `watch@"2"`, `stream@"2"`)
		h.ExpectSink("Replace 8 [b@2]")
	})
}

func TestWatch_OutagesAreSatOutWithoutAList(t *testing.T) {
	for _, err := range []error{busy(0), refused(), outage(), badGateway(), io.EOF, &net.DNSError{Err: "no such host", IsTimeout: true}} {
		story(t, Options{}, func(h *harness) {
			h.Put("a")
			h.Start()
			h.Pass(time.Minute)
			h.Forget()
			h.set(func() { h.failWatches = []error{err, err} })
			h.BreakWatch(io.EOF)
			h.Pass(2400 * time.Millisecond)
			h.ExpectRequests(`watch@"1"`, `watch@"1"`, `watch@"1"`)
			h.ExpectErrors(err, err)
		})
	}
	story(t, Options{}, func(h *harness) { // the same on an open stream
		h.Put("a")
		h.Start()
		h.Forget()
		h.BreakWatch(busy(0))
		h.Pass(time.Second)
		h.ExpectRequests(`watch@"1"`)
	})
}

// A proxy that cannot watch answers each watch with a 504, though lists pass through it.
func TestWatch_AnOutageOfWatchesOnlyIsAnsweredByLists(t *testing.T) {
	for _, err := range []error{gatewayTimeout(), fmt.Errorf("read: %w", syscall.ECONNRESET), io.EOF, resetStream()} {
		story(t, Options{}, func(h *harness) {
			h.Put("a")
			h.Start()
			h.Forget()
			h.set(func() { h.refuseWatches = err })
			h.BreakWatch(outage())
			h.Pass(141 * time.Second) // tried after 0.8, 2.4, 5.6, 12, 24.8, 50.4, 80.4, 110.4 and 140.4 seconds
			h.ExpectRequests(slices.Repeat([]string{`watch@"1"`}, 9)...)
			h.Pass(30 * time.Second)
			h.ExpectRequests(`stream@"1"`)
			h.set(func() { h.refuseStreaming = err }) // streaming lists are watches, too
			h.BreakWatch(outage())
			h.Pass(6 * time.Minute)
			h.Put("b", "c") // nobody is watching
			h.Forget()
			h.Pass(time.Minute)
			h.ExpectRequests(`stream@"1"`, `list@"1"`, `watch@"3"`, `stream@"3"`, `list@"3"`, `watch@"3"`)
			h.ExpectSink("Replace 3 [a@1 b@2 c@3]", "Replace 3 [a@1 b@2 c@3]")
			h.set(func() { h.refuseWatches = nil })
			h.Pass(time.Minute)
			h.Forget()
			h.BreakWatch(outage()) // watches work again, so failures are counted anew
			h.Pass(time.Minute)
			h.ExpectRequests(`watch@"3"`)
		})
	}
}

func TestWatch_OnesThatEndAtOnceInAnOutageAreAnsweredByAList(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.Start()
		h.Forget()
		for range 9 {
			h.BreakWatch(outage())
			h.Settle()
			for h.r.State() != Watching {
				h.Pass(100 * time.Millisecond)
			}
		}
		h.ExpectRequests(slices.Repeat([]string{`watch@"1"`}, 9)...)
		h.BreakWatch(outage())
		h.Pass(time.Minute)
		h.ExpectRequests(`stream@"1"`)
	})
}

func TestWatch_OtherErrorsAreAnsweredByAList(t *testing.T) {
	for _, err := range []error{forbidden(), invalid(), internal(), errors.New("garbage frame")} {
		story(t, Options{}, func(h *harness) {
			h.Put("a")
			h.Start()
			h.Forget()
			h.BreakWatch(err)
			h.ExpectStates(BackingOff)
			h.Pass(800 * time.Millisecond)
			h.ExpectRequests(`stream@"1"`)
			h.ExpectErrors(err)
		})
	}
}

func TestWatch_TooLargeVersionIsAnsweredByAListAtTheLatest(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.Start()
		h.Forget()
		h.BreakWatch(tooLarge())
		h.Pass(time.Second)
		h.ExpectRequests(`stream@""`)
	})
}

func TestWatch_InternalErrorsAreRetriedWithinTheirWindow(t *testing.T) {
	opts := Options{MaxInternalErrorRetry: 5 * time.Second, Backoff: Backoff{Base: 2 * time.Second, Factor: 1}}
	story(t, opts, func(h *harness) {
		h.Put("a")
		h.Start()
		h.Forget()
		for range 3 { // at 0 s, 2 s, 4 s
			h.BreakWatch(internal())
			h.Pass(2 * time.Second)
			h.ExpectRequests(`watch@"1"`)
		}
		h.BreakWatch(internal()) // at 6 s
		h.Pass(2 * time.Second)
		h.ExpectRequests(`stream@"1"`)
		h.BreakWatch(internal()) // another window
		h.Pass(2 * time.Second)
		h.ExpectRequests(`watch@"1"`)
		h.Pass(time.Minute) // and another, after a minute of quiet
		h.BreakWatch(internal())
		h.Pass(2 * time.Second)
		h.ExpectRequests(`watch@"1"`)
	})
}

func TestWatch_VeryShortOneIsAnErrorNotALoop(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.Start()
		h.Pass(time.Minute)
		h.BreakWatch(io.EOF)
		h.Settle()
		h.Forget()
		h.BreakWatch(io.EOF)
		h.ExpectErrors(ErrVeryShortWatch)
		h.ExpectStates(BackingOff)
		require.ErrorIs(t, h.r.LastError(), ErrVeryShortWatch)
		h.Pass(800 * time.Millisecond)
		h.ExpectRequests(`stream@"1"`)
		require.NoError(t, h.r.LastError())
		// One that brought something is none, however short.
		h.BreakWatch(io.EOF)
		h.Settle()
		h.Put("b")
		h.BreakWatch(io.EOF)
		h.ExpectErrors()
	})
}

func TestWatch_TimeoutsAreSpreadOver5To10Minutes(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		seen := map[int64]bool{}
		h.Start()
		for range 50 {
			h.Pass(time.Minute)
			h.BreakWatch(io.EOF)
		}
		h.Settle()
		for _, q := range h.requests {
			require.GreaterOrEqual(t, *q.opts.TimeoutSeconds, int64(300))
			require.Less(t, *q.opts.TimeoutSeconds, int64(600))
			seen[*q.opts.TimeoutSeconds] = true
		}
		require.Greater(t, len(seen), 10)
	})
	story(t, Options{MinWatchTimeout: time.Hour}, func(h *harness) {
		h.Start()
		require.GreaterOrEqual(t, *h.requests[0].opts.TimeoutSeconds, int64(3600))
	})
}

func TestWatch_ThatOutlivesItsTimeoutIsEndedFromThisSide(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.Start()
		h.Pass(5 * time.Minute)
		h.ExpectRequests(`stream@""`)
		h.Pass(5*time.Minute + 30*time.Second)
		h.ExpectRequests(`watch@"1"`)
		h.ExpectErrors()
		h.set(func() { h.hang = true }) // nor may the server take for ever to answer
		h.Pass(time.Minute)
		h.BreakWatch(io.EOF)
		h.Pass(10*time.Minute + 30*time.Second - 1)
		h.ExpectRequests(`watch@"1"`)
		h.Pass(1)
		h.ExpectRequests(`watch@"1"`)
	})
}

func TestWatch_BookmarksReachTheSink(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.Start()
		h.Forget()
		h.Skip(10)
		h.Bookmark()
		h.Bookmark()
		h.ExpectSink("Bookmark 11", "Bookmark 11")
		h.ExpectVersion("11")
		h.BreakWatch(io.EOF)
		h.ExpectRequests(`watch@"11"`)
	})
}

func TestWatch_OldBookmarkDoesNotSetTheVersionBack(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.Start()
		h.Put("b", "c")
		h.Forget()
		h.BookmarkAt("2")
		h.BookmarkAt("")
		h.ExpectSink()
		h.ExpectVersion("3")
		h.BreakWatch(io.EOF)
		h.ExpectRequests(`watch@"3"`)
	})
}

func TestWatch_EventOlderThanItsStartMeansThatTheServerWasSetBack(t *testing.T) {
	for _, sign := range []func(h *harness){
		func(h *harness) { h.BookmarkAt("2") },
		func(h *harness) { h.Send(listwatch.Modified, "a", 2) },
	} {
		story(t, Options{}, func(h *harness) {
			h.Put("a", "b", "c")
			h.Start()
			h.Forget()
			sign(h)
			h.ExpectErrors(ErrRewound)
			h.ExpectSink()
			h.Pass(800 * time.Millisecond)
			h.ExpectRequests(`stream@""`)
			h.ExpectSink("Replace 3 [a@1 b@2 c@3]")
		})
	}
	story(t, Options{}, func(h *harness) { // some servers send deletions with the version of what was deleted
		h.Put("a", "b", "c")
		h.Start()
		h.Forget()
		h.Send(listwatch.Deleted, "a", 1)
		h.ExpectSink("Delete a@1")
		h.ExpectVersion("3")
		h.ExpectErrors()
	})
}

func TestWatch_TakesVersionsOverOnlyAfterTheSyntheticEvents(t *testing.T) {
	story(t, Options{DisableStreamingList: true}, func(h *harness) {
		h.Start() // an empty list at "0"
		h.ExpectRequests(`list@"0" limit=500`, `watch@"0"`)
		h.Send(listwatch.Added, "z", 9)
		h.Send(listwatch.Added, "a", 4)
		h.ExpectVersion("0")
		h.Send(listwatch.Modified, "a", 10)
		h.ExpectVersion("10")
		h.Send(listwatch.Added, "b", 11)
		h.ExpectVersion("11")
	})
	story(t, Options{DisableStreamingList: true}, func(h *harness) {
		h.Start()
		h.Send(listwatch.Added, "z", 9)
		h.Forget()
		h.BookmarkAt("9")
		h.ExpectSink("Bookmark 9")
		h.ExpectVersion("9")
		h.Send(listwatch.Added, "b", 10)
		h.ExpectVersion("10")
	})
	story(t, Options{DisableStreamingList: true}, func(h *harness) {
		h.Start()
		h.send(change{rv: 9, typ: listwatch.Deleted, key: keyNamed("z"), bad: true}.result())
		h.ExpectVersion("9")
		h.Send(listwatch.Added, "b", 10)
		h.ExpectVersion("10")
	})
}

func TestPagedList_AVersionThatTheServerRefusesIsLeft(t *testing.T) {
	story(t, Options{DisableStreamingList: true}, func(h *harness) {
		h.Put("a")
		h.Start()
		h.ExpectRequests(`list@"0" limit=500`, `watch@"1"`)
		h.set(func() { h.failLists = []error{apierrors.NewBadRequest("invalid resource version")} })
		h.BreakWatch(expired())
		h.Pass(800 * time.Millisecond)
		h.ExpectRequests(`list@"1"`, `list@"" limit=500`, `watch@"1"`)
	})
}

func TestWatch_WithoutAVersionIsRepeatedOnlyAfterAList(t *testing.T) {
	story(t, Options{DisableStreamingList: true}, func(h *harness) {
		h.Start()
		h.Put("a")
		h.Pass(time.Minute)
		h.ExpectSink("Replace 0 []", "Add a@1")
		h.Forget()
		h.Rewind(1)
		h.ExpectRequests(`list@"0" limit=500`, `watch@"0"`)
		h.ExpectSink("Replace 0 []")
		h.Put("a")
		h.BreakWatch(io.EOF) // synthetic events are no progress: this must not go on without a pause
		h.ExpectStates(ListingPaged, Connecting, Watching, BackingOff)
	})
}

func TestWatch_EventsWithoutVersionsAreNoProgress(t *testing.T) {
	versionless := result{ev: listwatch.Event[object]{Type: listwatch.Modified, Object: change{key: keyNamed("a")}.object()}}
	for _, opts := range []Options{{}, {DisableStreamingList: true}} { // from a version, and from "0"
		story(t, opts, func(h *harness) {
			if !opts.DisableStreamingList {
				h.Put("a")
			}
			h.Start()
			h.Pass(time.Minute)
			version := h.version()
			h.send(versionless)
			h.ExpectVersion(version)
			h.BreakWatch(io.EOF) // that one took its time
			h.ExpectErrors()
			h.Forget()
			h.send(versionless)
			h.BreakWatch(io.EOF) // the next one may send the same, and end, without end
			h.ExpectErrors(ErrVeryShortWatch)
			h.ExpectStates(BackingOff)
			h.ExpectSink("Update a@0")
		})
	}
}

// What is not cancelled stays with the context of Run, for each watch.
func TestWatch_ItsContextEndsWithIt(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Start()
		first := h.r.current.stream
		h.BreakWatch(io.EOF)
		h.Settle()
		require.NotSame(t, first, h.r.current.stream)
		require.Error(t, first.ctx.Err())
	})
}
