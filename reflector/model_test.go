package reflector

import (
	"fmt"
	"io"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"glasswatch/listwatch"
)

// deed is one step of a random history.
type deed struct {
	what string
	name string
	n    int
}

func (d deed) String() string { return fmt.Sprintf("%s %s %d", d.what, d.name, d.n) }

// deeds are what can happen, each as often as it stands here.
var deeds = []string{
	"put", "put", "put", "put", "delete", "delete", "spoil", "spoilAnon", "deleteSpoilt",
	"pass", "pass", "pass", "bookmark", "oldBookmark", "skip",
	"eof", "cut", "expire", "compact", "failWatch", "failList", "failStream", "error",
	"refuse", "withhold", "heal", "pageCap", "rewind", "restart",
}

func drawDeed(t *rapid.T) deed {
	return deed{
		what: rapid.SampledFrom(deeds).Draw(t, "what"),
		name: rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "name"),
		n:    rapid.IntRange(0, 7).Draw(t, "n"),
	}
}

// someError is one of those that a request or a stream may end with.
func someError(n int) error {
	return []error{busy(0), busy(3), internal(), outage(), refused(), forbidden(), expired(), tooLarge()}[n]
}

// do plays d. anon is told which objects the reflector cannot even name.
func (h *harness) do(d deed) {
	switch d.what {
	case "put":
		h.Put(d.name)
	case "delete":
		h.Delete(d.name)
	case "spoil":
		h.Spoil(d.name)
	case "spoilAnon":
		h.SpoilAnon(d.name)
	case "deleteSpoilt":
		h.DeleteSpoilt(d.name)
	case "pass":
		h.Pass(time.Duration(1<<(2*d.n)) * 100 * time.Millisecond) // 0.1 s to 27 min
	case "bookmark":
		h.Bookmark()
	case "oldBookmark":
		v, _ := strconv.Atoi(h.version())
		h.BookmarkAt(strconv.Itoa(max(0, v-d.n)))
	case "skip":
		h.Skip(d.n)
	case "eof":
		h.BreakWatch(io.EOF)
	case "cut":
		h.BreakWatch(io.ErrUnexpectedEOF)
	case "expire":
		h.Compact()
		h.BreakWatch(expired())
	case "compact":
		h.Compact()
	case "failWatch":
		h.set(func() { h.failWatches = append(h.failWatches, someError(d.n)) })
	case "failList":
		h.set(func() { h.failLists = append(h.failLists, someError(d.n)) })
	case "failStream":
		h.set(func() { h.failStreams = append(h.failStreams, someError(d.n)) })
	case "error":
		h.BreakWatch(someError(d.n))
	case "refuse":
		h.set(func() { h.refuseStreaming = invalid() })
	case "withhold":
		h.set(func() { h.withholdEnd = true })
	case "heal":
		h.Heal()
	case "pageCap":
		h.set(func() { h.pageCap = d.n })
	case "rewind":
		// No client can tell that a server was set back, once it is past the old version again. So there is time to tell.
		h.Heal()
		h.Settle()
		h.Rewind(d.n)
		h.Pass(20 * time.Minute)
	case "restart":
		h.Stop()
		h.Start()
	}
	h.Settle()
}

// mismatch compares the sink with the server. An object with an unreadable version may be there in any version before,
// or not at all.
func (h *harness) mismatch() error {
	h.set(func() {}) // orders the reads below after the server's writes
	for key, version := range h.sink.view {
		c, ok := h.objects[key]
		if !ok {
			return fmt.Errorf("%s is in the sink, not on the server", key.Name)
		}
		if !c.bad && version != strconv.Itoa(c.rv) {
			return fmt.Errorf("%s is at %s in the sink, at %d on the server", key.Name, version, c.rv)
		}
	}
	for key, c := range h.objects {
		if _, ok := h.sink.view[key]; !ok && !c.bad {
			return fmt.Errorf("%s@%d is on the server, not in the sink", key.Name, c.rv)
		}
	}
	if v, _ := strconv.Atoi(h.r.LastSyncResourceVersion()); v > h.rv {
		return fmt.Errorf("the reflector is at %d, the server at %d", v, h.rv)
	}
	return nil
}

// checkInvariants is called when nothing moves.
func (h *harness) checkInvariants() error {
	st := &h.r.run
	switch s := h.r.State(); s {
	case Watching:
		if st.stream == nil || st.stream.Stream == nil || st.initial != nil || st.pages != nil {
			return fmt.Errorf("watching without a stream, or with half a list")
		}
		if st.stream.silence != nil {
			return fmt.Errorf("a watch is being timed for silence")
		}
	case ListingStreaming:
		if st.stream == nil || st.initial == nil {
			return fmt.Errorf("waiting for a streaming list without a stream")
		}
		if len(st.initial.index) != len(st.initial.items) {
			return fmt.Errorf("initial set: %d keys for %d items", len(st.initial.index), len(st.initial.items))
		}
		for key, i := range st.initial.index {
			if listwatch.KeyOf(st.initial.items[i]) != key {
				return fmt.Errorf("initial set: %v is filed in a wrong place", key)
			}
		}
	case BackingOff:
		if st.stream != nil || st.wait <= 0 {
			return fmt.Errorf("backing off with a stream, or for %v", st.wait)
		}
	default:
		return fmt.Errorf("resting in %v", s)
	}
	if len(h.streams) > 1 {
		return fmt.Errorf("%d streams are open", len(h.streams))
	}
	return nil
}

func playHistory(t *testing.T, opts Options, history []deed) (err error) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, opts)
		h.Start()
		defer h.Stop()
		for i, d := range history {
			h.do(d)
			if err = h.checkInvariants(); err != nil {
				err = fmt.Errorf("after deed %d, %v: %w", i, d, err)
				return
			}
		}
		// Whatever happened: once the server is well, the reflector catches up within one watch and one wait.
		h.Heal()
		h.Pass(30 * time.Minute)
		if h.r.State() != Watching || h.r.LastError() != nil {
			err = fmt.Errorf("is %v, last error %v", h.r.State(), h.r.LastError())
			return
		}
		err = h.mismatch()
	})
	return err
}

func TestModel_SinkEndsEqualToTheServer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		opts := Options{
			DisableStreamingList:  rapid.Bool().Draw(rt, "paged"),
			PageSize:              int64(rapid.IntRange(0, 3).Draw(rt, "pageSize")),
			MaxInternalErrorRetry: time.Duration(rapid.IntRange(0, 1).Draw(rt, "window")) * time.Minute,
			Backoff:               Backoff{Jitter: float64(rapid.IntRange(0, 1).Draw(rt, "jitter"))},
		}
		history := rapid.SliceOfN(rapid.Custom(drawDeed), 0, 60).Draw(rt, "history")
		if err := playHistory(t, opts, history); err != nil {
			rt.Fatalf("%v\nhistory: %v", err, history)
		}
	})
}
