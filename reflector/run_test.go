package reflector

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"glasswatch/listwatch"
)

// The reference is the very function behind client-go's reflector, with its figures, without its jitter.
func TestBackoff_GrowsLikeClientGos(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	ref := wait.Backoff{Duration: 800 * time.Millisecond, Cap: 30 * time.Second, Steps: 38, Factor: 2}
	delay := ref.DelayWithReset(clock, time.Hour)
	story(t, Options{}, func(h *harness) {
		h.set(func() {
			for range 10 {
				h.failLists = append(h.failLists, forbidden())
			}
			h.refuseStreaming = invalid()
		})
		h.Start()
		for range 10 {
			h.Pass(delay() - 1)
			h.Forget()
			h.Pass(1)
			require.NotEmpty(t, h.Requests())
		}
		require.Equal(t, Watching, h.r.State())
	})
}

func TestBackoff_RetryAfterWinsWhenLonger(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.set(func() { h.failStreams = []error{busy(20), busy(1)} })
		h.Start()
		h.Forget()
		h.Pass(20*time.Second - 1)
		h.ExpectRequests()
		h.Pass(1)
		h.ExpectRequests(`stream@""`)
		h.Pass(1600*time.Millisecond - 1) // the second step is longer than the second that was asked for
		h.ExpectRequests()
		h.Pass(1)
		h.ExpectRequests(`stream@""`)
	})
}

func TestBackoff_CanBeReplaced(t *testing.T) {
	story(t, Options{Delay: func() time.Duration { return 7 * time.Second }}, func(h *harness) {
		h.set(func() { h.failStreams = []error{busy(0), busy(0)} })
		h.Start()
		h.Forget()
		h.Pass(14 * time.Second)
		h.ExpectRequests(`stream@""`, `stream@""`)
	})
}

// story requires of Stop that no time passes.
func TestRun_StopsAtOnceInEveryState(t *testing.T) {
	for state, prepare := range map[State]func(h *harness){
		ListingStreaming: func(h *harness) { h.withholdEnd = true },
		ListingPaged:     func(h *harness) { h.refuseStreaming = invalid(); h.failLists = nil; h.pageCap = 1 },
		Connecting:       func(h *harness) {},
		Watching:         func(h *harness) {},
		BackingOff:       func(h *harness) { h.failStreams = []error{busy(3600)} },
	} {
		t.Run(state.String(), func(t *testing.T) {
			story(t, Options{}, func(h *harness) {
				h.Put("a")
				h.set(func() { prepare(h) })
				hang := func(_, to State) {
					h.set(func() { h.hang = to == state && (to == ListingPaged || to == Connecting) })
				}
				h.r.opts.OnTransition = hang
				h.Start()
				if state == Connecting {
					h.Pass(time.Minute)
					h.BreakWatch(io.EOF)
					h.Settle()
				}
				require.Equal(t, state, h.r.State())
				h.Stop()
				h.ExpectErrors(map[State][]error{BackingOff: {busy(0)}}[state]...) // cancellation itself is none
			})
		})
	}
}

func TestRun_MayBeRepeatedButNotDoubled(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		require.Equal(t, Idle, h.r.State())
		h.Start()
		require.PanicsWithValue(t, "reflector: *v1.PartialObjectMetadata is running already", func() { h.r.Run(context.Background()) })
		require.Equal(t, Watching, h.r.State())
		h.Stop()
		h.Put("b")
		h.Forget()
		h.Start()
		h.ExpectRequests(`stream@"1"`)
		h.ExpectSink("Replace 2 [a@1 b@2]")
	})
}

func TestRun_HandsOnAPanicOfTheSinkAndLeavesNothingBehind(t *testing.T) {
	for _, op := range []string{"Replace", "Add"} {
		story(t, Options{}, func(h *harness) {
			h.sink.bang = op
			h.Start()
			h.Put("a")
			h.Pass(time.Second)
			what := <-h.done
			h.cancel()
			h.cancel = nil
			require.Contains(t, fmt.Sprint(what), "sink: "+op)
			require.Empty(t, h.streams)
			require.Equal(t, Stopped, h.r.State())
		})
	}
}

// OnTransition finds in Stats what has just ended.
func TestStats_MeasureListsAndWatches(t *testing.T) {
	var told []string
	var h *harness
	var before Stats
	note := func(from, to State) {
		now := h.r.Stats()
		told = append(told, fmt.Sprintf("%v %v: %d objects in %v, %d events in %v", from, to,
			now.ListedObjects-before.ListedObjects, now.ListTime-before.ListTime,
			now.Events-before.Events, now.WatchTime-before.WatchTime))
		before = now
	}
	story(t, Options{}, func(it *harness) {
		h = it
		h.r.opts.OnTransition = note
		h.Put("a", "b")
		h.Start()
		h.Pass(time.Minute)
		h.Put("c")
		h.Pass(time.Minute)
		h.BreakWatch(io.EOF)
		h.Pass(3 * time.Second)
		h.BreakWatch(expired())
		h.Pass(time.Minute)
		h.Stop()
		require.Equal(t, []string{
			"Idle ListingStreaming: 0 objects in 0s, 0 events in 0s",
			"ListingStreaming Watching: 2 objects in 0s, 0 events in 0s",
			"Watching Connecting: 0 objects in 0s, 1 events in 2m0s",
			"Connecting Watching: 0 objects in 0s, 0 events in 0s",
			"Watching BackingOff: 0 objects in 0s, 0 events in 3s",
			"BackingOff ListingStreaming: 0 objects in 0s, 0 events in 0s",
			"ListingStreaming Watching: 3 objects in 0s, 0 events in 0s",
			"Watching Stopped: 0 objects in 0s, 0 events in 59.2s",
		}, told)
		s := h.r.Stats()
		require.Equal(t, uint64(3), s.EndedWatches)
		require.Zero(t, s.ShortWatches)
	})
}

func TestStats_AWatchHasEndedBeforeOnErrorIsTold(t *testing.T) {
	opts := Options{OnError: func(context.Context, error) { <-time.After(5 * time.Second) }}
	story(t, opts, func(h *harness) {
		h.Put("a")
		h.Start()
		h.BreakWatch(io.EOF)
		h.Settle()
		h.BreakWatch(io.EOF) // at once: a very short watch, which is reported
		h.Pass(time.Second)
		var open int
		h.set(func() { open = len(h.streams) })
		require.Zero(t, open, "OnError runs")
		require.Equal(t, uint64(2), h.r.Stats().EndedWatches)
		require.Zero(t, h.r.Stats().WatchTime)
		h.Pass(4 * time.Second) // OnError returns
		require.Equal(t, uint64(1), h.r.Stats().ShortWatches)
	})
}

func TestDefaultOnError_LogsWhatHealsByItselfQuietly(t *testing.T) {
	bad := &listwatch.ObjectError{Type: listwatch.Added, Key: keyNamed("a"), Err: io.EOF}
	for _, tc := range []struct {
		err  error
		want string // the level and the message
	}{
		{expired(), `"level"=4 "msg"="List or watch closed"`},
		{busy(1), `"level"=2 "msg"="List or watch ended`},
		{io.ErrUnexpectedEOF, `"level"=1 "msg"="List or watch broke off`},
		{ErrSilent, `"level"=2 "msg"="List or watch ended`},
		{ErrEndedEarly, `"level"=2 "msg"="List or watch ended`},
		{ErrRewound, `"msg"="Failed to list, to watch or to take over an object" "error"=`},
		{fmt.Errorf("%w (%v)", ErrVeryShortWatch, io.EOF), `"level"=0 "msg"="Watch ended at once`},
		{forbidden(), `"msg"="Failed to list, to watch or to take over an object" "error"=`},
		{bad, `"error"="wrapped: unreadable ADDED event \"ns/a\": EOF"`},
		{&SinkError{Op: "Add", Key: keyNamed("a"), Err: io.EOF}, `"error"="wrapped: sink refused Add of \"ns/a\": EOF"`},
	} {
		var out bytes.Buffer
		logger := funcr.New(func(_, args string) { fmt.Fprintln(&out, args) }, funcr.Options{Verbosity: 9})
		r := New[object](newServer(), newRecorder(), Options{Name: "r"})
		r.report(klog.NewContext(context.Background(), logger), fmt.Errorf("wrapped: %w", tc.err))
		require.Contains(t, out.String(), tc.want)
		require.Contains(t, out.String(), `"reflector"="r"`)
	}
}

// A negative time is as none at all: it would be a loop without a pause.
func TestOptions_NegativeTimesAreNoHotLoop(t *testing.T) {
	opts := Options{
		SilenceTimeout: -1, StreamingRetry: -1, MinWatchTimeout: -1,
	}.withDefaults("r")
	require.Equal(t, Options{}.withDefaults("r"), opts)
}

func TestErrors_KeepTheirCause(t *testing.T) {
	cause := errors.New("cause")
	require.ErrorIs(t, &SinkError{Op: "Add", Err: cause}, cause)
	require.Equal(t, "sink refused Replace: cause", (&SinkError{Op: "Replace", Err: cause}).Error())
	require.Equal(t, `sink refused Add of "ns/a": cause`, (&SinkError{Op: "Add", Key: keyNamed("a"), Err: cause}).Error())
	require.Equal(t, "State(99)", State(99).String())
	require.Equal(t, "BackingOff", BackingOff.String())
}

// A wrong certificate, address or proxy is not mended by waiting: it must be seen at the usual verbosity.
func TestLogError_TellsOfAServerThatCannotBeReached(t *testing.T) {
	for err, loud := range map[error]bool{
		&url.Error{Op: "Get", URL: "https://api.test", Err: x509.UnknownAuthorityError{}}:    true,
		&url.Error{Op: "Get", URL: "https://api.test", Err: &net.DNSError{Name: "api.test"}}: true,
		&url.Error{Op: "Get", URL: "https://api.test", Err: syscall.ECONNREFUSED}:            true,
		outage():                                true,
		gatewayTimeout():                        true,
		busy(1):                                 false,
		resetStream():                           false,
		io.ErrUnexpectedEOF:                     false,
		apierrors.NewResourceExpired("too old"): false,
		apierrors.NewForbidden(schema.GroupResource{}, "", nil): true,
	} {
		lines := 0
		logger := funcr.New(func(_, _ string) { lines++ }, funcr.Options{})
		LogError(klog.NewContext(t.Context(), logger), "pods", err)
		require.Equal(t, loud, lines == 1, "%v", err)
	}
}
