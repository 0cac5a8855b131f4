package reflector

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
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

// do plays d.
func (h *harness) do(d deed) {
	if h.happen(d) {
		h.Settle()
		return
	}
	switch d.what {
	case "pass":
		h.Pass(time.Duration(1<<(2*d.n)) * 100 * time.Millisecond) // 0.1 s to 27 min
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

// happen plays d if it is one that happens at once, at the server.
func (h *harness) happen(d deed) bool {
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
	default:
		return false
	}
	return true
}

// mismatch compares the sink with the server. An object with an unreadable version may be there in any version before,
// or not at all.
func (h *harness) mismatch() error {
	h.sink.mu.Lock()
	defer h.sink.mu.Unlock()
	h.server.mu.Lock()
	defer h.server.mu.Unlock()
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

// successors are the arrows of the picture in the package comment. Stopped comes after all of them.
var successors = map[State][]State{
	Idle:             {ListingStreaming, ListingPaged, Connecting},
	ListingStreaming: {Watching, ListingPaged, BackingOff},
	ListingPaged:     {Connecting, BackingOff},
	Connecting:       {Watching, BackingOff, ListingStreaming, ListingPaged},
	Watching:         {Connecting, BackingOff, ListingStreaming, ListingPaged},
	BackingOff:       {ListingStreaming, ListingPaged, Connecting},
	Stopped:          {ListingStreaming, ListingPaged},
}

// checkInvariants is called in Run's goroutine when it enters a state.
func (r *Reflector[T]) checkInvariants(from, to State) error {
	switch {
	case to != Stopped && !slices.Contains(successors[from], to):
		return fmt.Errorf("%v leads to %v", from, to)
	case to == Watching && r.current.stream == nil:
		return fmt.Errorf("watching without a stream")
	case to != Watching && r.current.stream != nil:
		return fmt.Errorf("enters %v with a stream", to)
	}
	return nil
}

func playHistory(t *testing.T, opts Options, batches bool, history []deed) (err error) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, opts, batches)
		broken := make(chan error, 1)
		var entered time.Time
		h.r.opts.OnTransition = func(from, to State) {
			err := h.r.checkInvariants(from, to)
			if from == BackingOff && to != Stopped && time.Since(entered) == 0 {
				err = fmt.Errorf("%v has not waited", from)
			}
			entered = time.Now()
			if err != nil {
				select {
				case broken <- err:
				default:
				}
			}
		}
		h.Start()
		defer h.Stop()
		for i, d := range history {
			h.do(d)
			s := h.r.State()
			if s != Watching && s != BackingOff && s != ListingStreaming {
				err = fmt.Errorf("rests in %v after deed %d, %v", s, i, d)
				return
			}
		}
		select {
		case err = <-broken:
			return
		default:
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
		history := rapid.SliceOfN(rapid.Custom(drawDeed), 10, 80).Draw(rt, "history")
		if err := playHistory(t, opts, rapid.Bool().Draw(rt, "batches"), history); err != nil {
			rt.Fatalf("%v\nhistory: %v", err, history)
		}
	})
}

// The dumb version is a map of versions.
func TestModel_InitialSetIsAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		set, model := streamingList[object]{initial: map[listwatch.Key]object{}}, map[listwatch.Key]string{}
		types := []listwatch.EventType{listwatch.Added, listwatch.Modified, listwatch.Deleted}
		for rv := range rapid.IntRange(0, 40).Draw(rt, "events") {
			c := change{
				rv:  rv,
				key: keyNamed(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "name")),
				typ: rapid.SampledFrom(types).Draw(rt, "type"),
			}
			set.apply(c.result().ev)
			model[c.key] = strconv.Itoa(rv)
			if c.typ == listwatch.Deleted {
				delete(model, c.key)
			}
		}
		items := set.list("1000").Items
		got := map[listwatch.Key]string{}
		for _, obj := range items {
			got[listwatch.KeyOf(obj)] = obj.ResourceVersion
		}
		require.Equal(rt, model, got)
		require.True(rt, slices.IsSortedFunc(items, func(a, b object) int { return cmpString(a.Name, b.Name) }))
	})
}
