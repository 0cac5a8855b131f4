package lens

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
)

const (
	objects   = 10_000
	perSecond = 2_000 // changes; each is an event at about a dozen boundaries
	// frame is the time between two frames at 60 Hz.
	frame = time.Second / 60
	// long is how much work makes a frame a long one.
	long = 50 * time.Millisecond
	// goal is what 95 of 100 frames may take on an idle machine, with 2,000 events a second. The test prints what they take.
	// If GLASSWATCH_LENS_FRAME is set, to a number of milliseconds, it is red above that: a time is no promise elsewhere.
	goal      = 8 * time.Millisecond
	limitName = "GLASSWATCH_LENS_FRAME"
)

// traceEvent is one of Chromium's, in microseconds. Thread is the CPU time.
type traceEvent struct {
	Name   string
	Phase  string `json:"ph"`
	PID    int64
	TID    int64
	At     int64 `json:"ts"`
	Wall   int64 `json:"dur"`
	Thread int64 `json:"tdur"`
	Args   struct{ Name string }
}

// trace records what the browser's threads do until stop is called.
func (b *tab) trace() (stop func() []traceEvent) {
	b.t.Helper()
	var mu sync.Mutex
	var events []traceEvent
	done := make(chan struct{})
	require.NoError(b.t, chromedp.Listen(b.ctx, func(event any) {
		switch e := event.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			defer mu.Unlock()
			for _, text := range e.Value {
				var one traceEvent
				if json.Unmarshal(text, &one) == nil {
					events = append(events, one)
				}
			}
		case *tracing.EventTracingComplete:
			close(done)
		}
	}))
	categories := []string{"toplevel", "__metadata", "disabled-by-default-lighthouse"}
	config := &tracing.TraceConfig{IncludedCategories: categories}
	b.do(command(tracing.Start, tracing.StartParams{TraceConfig: config}))
	return func() []traceEvent {
		b.do(command(tracing.End, cdp.Empty{}))
		select {
		case <-done:
		case <-time.After(patience):
			b.t.Fatal("the trace does not end")
		}
		return events
	}
}

// frameWork adds up the CPU time of the tasks of the page's main thread, for each 60th of a second.
func frameWork(events []traceEvent) (frames []time.Duration) {
	type thread struct{ pid, tid int64 }
	perThread := map[thread]map[int64]time.Duration{}
	busiest, most := thread{}, time.Duration(0)
	sums := map[thread]time.Duration{}
	main := map[thread]bool{}
	first, last := int64(0), int64(0)
	for _, e := range events {
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			main[thread{e.PID, e.TID}] = true
		}
	}
	for _, e := range events {
		at := thread{e.PID, e.TID}
		if e.Phase != "X" || !main[at] || e.Name != "RunTask" && e.Name != "ThreadControllerImpl::RunTask" {
			continue
		}
		if perThread[at] == nil {
			perThread[at] = map[int64]time.Duration{}
		}
		took := time.Duration(e.Thread) * time.Microsecond
		perThread[at][e.At/frame.Microseconds()] += took
		if sums[at] += took; sums[at] > most {
			busiest, most = at, sums[at]
		}
		if first == 0 || e.At < first {
			first = e.At
		}
		last = max(last, e.At)
	}
	for n := first / frame.Microseconds(); n <= last/frame.Microseconds(); n++ {
		frames = append(frames, perThread[busiest][n])
	}
	slices.Sort(frames)
	return frames
}

func TestLarge_TenThousandObjectsLeaveTheFramesTheirTime(t *testing.T) {
	chromium(t)
	b := visit(t, serve(t, lens.Options{}), "")
	b.isIn("Watching")
	b.enter("storm-objects", strconv.Itoa(objects))
	b.enter("storm-changes", "1000000")
	b.enter("storm-per_second", strconv.Itoa(perSecond))
	b.click("storm")
	b.until(`lens.view().state.informers.services.objects === 10001 && lens.view().counts.decoded.Service > 12000`)
	eval[float64](b, `window.before = lens.view(), window.began = performance.now()`)
	stop := b.trace()
	b.until(`performance.now() - began > 5000`)
	frames := frameWork(stop())
	// Both counts are the hub's own, and none is a sample's. Times are the hub's as well.
	eval[bool](b, `(window.after = lens.view()) !== null`)
	const seconds = `(after.us - before.us) / 1e6`
	changes := eval[float64](b, `(after.counts.decoded.Service - before.counts.decoded.Service) / (`+seconds+`)`)
	rate := eval[float64](b, `(after.seq - before.seq) / (`+seconds+`)`)
	b.click("storm-end")
	require.Greater(t, len(frames), 200)
	p95 := frames[len(frames)*95/100]
	tooLong := 0
	for _, f := range frames {
		if f > long {
			tooLong++
		}
	}
	t.Logf("%.0f changes and %.0f events a second, %d frames: main thread %v at p50, %v at p95 (goal %v), %v at most; %d long ones",
		changes, rate, len(frames), frames[len(frames)/2], p95, goal, frames[len(frames)-1], tooLong)
	assert.NotZero(t, frames[len(frames)-1], "the trace has the tasks")
	if text := os.Getenv(limitName); text != "" {
		limit, err := strconv.Atoi(text)
		require.NoError(t, err)
		assert.LessOrEqual(t, p95, time.Duration(limit)*time.Millisecond)
		assert.Less(t, float64(tooLong), 0.01*float64(len(frames))+1)
	}
}
