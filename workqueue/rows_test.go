package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShutDown_NoGoroutineOfTheQueueOutlivesIt(t *testing.T) {
	for name, stop := range map[string]func(q *DelayingQueue[string]){
		"ShutDown":          func(q *DelayingQueue[string]) { q.ShutDown() },
		"ShutDownWithDrain": func(q *DelayingQueue[string]) { q.ShutDownWithDrain() },
	} {
		t.Run(name, func(t *testing.T) {
			// A bubble ends with a panic if a goroutine is left, and a timer that goes off later would be one.
			synctest.Test(t, func(t *testing.T) {
				q := NewDelaying(Options[string]{Metrics: &deafMetrics{}})
				q.Add("a")
				item := take(t, q)
				q.AddAfter("b", time.Second)
				q.AddAfter("c", time.Hour)
				<-time.After(ReportPeriod) // both alarms are set
				q.Done(item)
				stop(q)
				require.False(t, q.nextDeadline.timer.Stop(), "the deadline's timer was still set")
				require.False(t, q.nextReport.timer.Stop(), "the report's timer was still set")
				require.False(t, q.reporting)
			})
		})
	}
}

// deafMetrics makes a queue measure itself for nobody.
type deafMetrics struct{}

func (*deafMetrics) Added()                                  {}
func (*deafMetrics) Taken(time.Duration)                     {}
func (*deafMetrics) Finished(time.Duration)                  {}
func (*deafMetrics) Unfinished(time.Duration, time.Duration) {}
func (*deafMetrics) Retried()                                {}

func TestAddAfter_APromisedWakeUpSurvivesWhateverIsAddedTakenAndDoneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		defer q.ShutDown()
		q.AddAfter("a", time.Minute)
		for range 3 {
			q.Add("a")
			item := take(t, q)
			q.AddAfter("a", time.Hour) // later than what is promised
			q.Add("a")
			q.Done(item)
			q.Done(take(t, q))
		}
		require.Zero(t, q.Len())
		<-time.After(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"a"}, takeAll(t, q))
	})
}
