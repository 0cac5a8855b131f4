package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestShutDown_WhatWaitsIsStillTakenAndNothingElseGetsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewRateLimiting(Options[string]{})
		q.Add("a")
		q.AddAfter("later", time.Second)
		q.ShutDown()
		assert.True(t, q.ShuttingDown())
		q.Add("b")
		q.AddAfter("c", time.Second)
		q.AddRateLimited("d")
		<-time.After(time.Minute)
		assert.Equal(t, []string{"a"}, takeAll(t, q))
		_, shutdown := q.Get()
		assert.True(t, shutdown)
		assert.Equal(t, Stats{}, q.Stats())
		q.ShutDown()
		ok(t, q)
	})
}

func TestShutDown_DoneBringsADirtyItemBack(t *testing.T) {
	q := New(Options[string]{})
	q.Add("a")
	take(t, q)
	q.Add("a")
	q.ShutDown()
	_, shutdown := q.Get()
	assert.True(t, shutdown, "another worker need not wait for it")
	q.Done("a")
	assert.Equal(t, []string{"a"}, takeAll(t, q))
	q.Done("a")
	ok(t, q)
}

func TestShutDown_WakesAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		ended := make(chan bool, 5)
		for range 5 {
			go func() {
				_, shutdown := q.Get()
				ended <- shutdown
			}()
		}
		synctest.Wait()
		q.ShutDown()
		for range 5 {
			assert.True(t, <-ended)
		}
	})
}

// drain starts a drain and returns a channel that is closed when it is over.
func drain(q interface{ ShutDownWithDrain() }) <-chan struct{} {
	drained := make(chan struct{})
	go func() {
		q.ShutDownWithDrain()
		close(drained)
	}()
	synctest.Wait()
	return drained
}

func isClosed(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestShutDownWithDrain_WaitsForWhatIsQueuedInProcessingOrDirty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.Add("in processing")
		q.Add("queued")
		take(t, q)
		q.Add("in processing")
		q.AddAfter("not due", time.Hour)
		drained := drain(q)

		q.Add("too late")
		assert.Equal(t, "queued", take(t, q))
		q.Done("queued")
		assert.False(t, isClosed(drained))
		q.Done("in processing")
		assert.False(t, isClosed(drained), "it was added again before the drain")
		assert.Equal(t, "in processing", take(t, q))
		assert.False(t, isClosed(drained))
		q.Done("in processing")
		assert.True(t, isClosed(drained))
		assert.Equal(t, Stats{}, q.Stats(), "what was not due is dropped")
		ok(t, q)
	})
}

func TestDrainTaken_ADrainWaitsOnlyForWhatWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{DrainTaken: true, Metrics: &recorder{}})
		q.Add("in processing")
		q.Add("queued")
		take(t, q)
		drained := drain(q)
		assert.False(t, isClosed(drained))
		q.Done("in processing")
		assert.True(t, isClosed(drained))
		assert.Equal(t, "queued", take(t, q))
		assert.False(t, q.nextReport.timer.Stop(), "the shutdown is over: nothing is reported any more")
		q.Done("queued")
		ok(t, q)
	})
}

func TestShutDownWithDrain_CountsWhatIsDelayedAndDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.AddAfter("due", time.Second)
		// As if the alarm were late.
		q.mu.Lock()
		q.nextDeadline.stop()
		q.mu.Unlock()
		<-time.After(2 * time.Second)
		drained := drain(q)
		assert.False(t, isClosed(drained))
		assert.Equal(t, []string{"due"}, takeAll(t, q))
		assert.True(t, isClosed(drained))
	})
}

func TestShutDown_EndsADrainThatHasNoWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("nobody takes it")
		first, second := drain(q), drain(q)
		<-time.After(time.Hour)
		assert.False(t, isClosed(first))
		q.ShutDown()
		assert.True(t, isClosed(first))
		assert.True(t, isClosed(second))

		again := drain(q)
		assert.False(t, isClosed(again), "a drain begun after the ShutDown waits for itself")
		takeAll(t, q)
		assert.True(t, isClosed(again))
	})
}

func TestShutDown_ReturnsOnlyWhenTheQueuesCallbackIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := &recorder{blockAdded: release}
		q := NewDelaying(Options[string]{Metrics: m})
		q.AddAfter("a", time.Second)
		<-time.After(2 * time.Second)
		synctest.Wait() // the callback is stuck in the metric
		ended := make(chan struct{})
		go func() {
			q.ShutDown()
			close(ended)
		}()
		require.False(t, isClosed(ended))
		close(release)
		assert.True(t, isClosed(ended))
	})
}

// A ShutDown waits for a metric's callback while a drain is on and a worker takes the last item. Whatever order they
// come to their end in, nobody misses it.
func TestShutDown_DoesNotMissTheEndOfACallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		q := NewDelaying(Options[string]{Metrics: &recorder{blockUnfinished: release}})
		q.Add("a")
		q.Add("b")
		q.Done(take(t, q)) // the report of unfinished work is planned
		drained := drain(q)
		<-time.After(ReportPeriod) // and stuck in the metric
		synctest.Wait()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.ShutDown()
		}()
		take(t, q)
		go q.Done("b") // reports, too
		require.False(t, isClosed(ended))
		close(release)
		assert.True(t, isClosed(ended), "ShutDown waits for ever")
		assert.True(t, isClosed(drained), "ShutDownWithDrain waits for ever")
	})
}

// An alarm that is stopped before it goes off is a callback less, too. Whatever waits for the callbacks is told.
func TestShutDown_HearsOfAnAlarmThatWasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		defer q.ShutDown()
		q.AddAfter("a", time.Hour)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.nextDeadline.calls.Wait()
		}()
		require.False(t, isClosed(ended))
		q.mu.Lock()
		q.nextDeadline.stop()
		q.mu.Unlock()
		assert.True(t, isClosed(ended), "nobody was told that the alarm was stopped")
	})
}

func TestShutDown_ReturnsOnlyWhenAReportOfUnfinishedWorkIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		q := New(Options[string]{Metrics: &recorder{blockUnfinished: release}})
		q.Add("a")
		take(t, q)
		<-time.After(ReportPeriod)
		synctest.Wait() // the report is stuck in the metric
		q.mu.Lock()
		q.opts.Metrics = nil // the report at the end of the shutdown must not be stuck as well
		q.mu.Unlock()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.ShutDown()
		}()
		assert.False(t, isClosed(ended), "a report is under way")
		close(release)
		assert.True(t, isClosed(ended))
	})
}

// Its alarm may have gone off when a shutdown takes the lock.
func TestShutDown_AReportThatComesLateTellsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &recorder{}
		q := New(Options[string]{Metrics: m})
		q.Add("a")
		take(t, q)
		q.ShutDown()
		m.reset()
		q.reportUnfinished()
		m.expect(t)
		assert.False(t, q.nextReport.timer.Stop(), "no report is planned")
	})
}
