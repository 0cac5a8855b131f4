package workqueue

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// recorder is Metrics that remembers what it was told.
type recorder struct {
	mu     sync.Mutex // guards events
	events []string
	// What blocks a call; nil does not.
	blockAdded, blockUnfinished <-chan struct{}
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *recorder) Added() {
	if r.blockAdded != nil {
		<-r.blockAdded
	}
	r.note("added")
}
func (r *recorder) Taken(queued time.Duration)    { r.note("taken after %v", queued) }
func (r *recorder) Finished(worked time.Duration) { r.note("finished after %v", worked) }
func (r *recorder) Unfinished(total, longest time.Duration) {
	if r.blockUnfinished != nil {
		<-r.blockUnfinished
	}
	r.note("unfinished %v %v", total, longest)
}
func (r *recorder) Retried() { r.note("retried") }

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
}

// expect says what was noted since the last call.
func (r *recorder) expect(t *testing.T, events ...string) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	assert.Equal(t, events, r.events)
	r.events = nil
}

func TestMetrics_TellAnItemsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &recorder{}
		q := NewDelaying(Options[string]{Metrics: m})
		q.Add("a")
		q.Add("a")
		<-time.After(time.Second)
		take(t, q)
		m.expect(t, "added", "taken after 1s")

		<-time.After(100 * time.Millisecond)
		q.Add("a")
		q.Add("a")
		<-time.After(100 * time.Millisecond)
		q.Done("a")
		q.Done("a")
		m.expect(t, "added", "finished after 200ms")

		take(t, q)
		q.Done("a")
		m.expect(t, "taken after 100ms", "finished after 0s")

		q.AddAfter("a", time.Second)
		q.AddAfter("b", 0)
		m.expect(t, "retried", "retried", "added")
		<-time.After(2 * time.Second)
		q.ShutDown()
		q.AddAfter("b", 0)
		m.expect(t, "unfinished 0s 0s", "added", "unfinished 0s 0s")
	})
}

func TestMetrics_UnfinishedWorkIsReportedWhileThereIsSomeAndNotLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &recorder{}
		q := New(Options[string]{Metrics: m})
		q.Add("a")
		q.Add("b")
		take(t, q)
		<-time.After(200 * time.Millisecond)
		take(t, q)
		assert.Equal(t, Stats{Processing: 2}, q.Stats())
		m.reset()
		<-time.After(ReportPeriod)
		m.expect(t, "unfinished 800ms 500ms")
		q.Done("a")
		<-time.After(ReportPeriod)
		m.expect(t, "finished after 700ms", "unfinished 800ms 800ms")
		q.Done("b")
		<-time.After(time.Minute)
		m.expect(t, "finished after 1s", "unfinished 0s 0s")
		q.ShutDown()
	})
}

func TestMetrics_ADrainReportsUnfinishedWorkToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &recorder{}
		q := New(Options[string]{Metrics: m})
		q.Add("a")
		q.Add("b")
		take(t, q)
		drained := drain(q)
		m.reset()
		<-time.After(ReportPeriod)
		m.expect(t, "unfinished 500ms 500ms")
		q.Done("a")
		take(t, q)
		q.ShutDown()
		assert.True(t, isClosed(drained))
		m.reset()
		<-time.After(time.Minute)
		m.expect(t)
		q.Done("b")
		m.expect(t, "finished after 1m0s", "unfinished 0s 0s")
	})
}

func TestMetrics_AfterAShutDownTheLastDoneIsReportedAlsoIfItemsAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &recorder{}
		q := New(Options[string]{Metrics: m})
		q.Add("a")
		q.Add("left")
		take(t, q)
		<-time.After(100 * time.Millisecond)
		q.ShutDown()
		m.expect(t, "added", "added", "taken after 0s", "unfinished 100ms 100ms")
		q.Done("a")
		m.expect(t, "finished after 100ms", "unfinished 0s 0s")
	})
}
