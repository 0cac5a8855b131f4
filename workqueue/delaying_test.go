package workqueue

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// story is a queue in virtual time: what came out, and when.
type story struct {
	*testing.T
	*DelayingQueue[string]
	start time.Time
}

func tell(t *testing.T, opts Options[string], f func(s *story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &story{T: t, DelayingQueue: NewDelaying(opts), start: time.Now()}
		f(s)
		ok(t, s)
		s.ShutDown()
	})
}

// At lets time pass until the given moment of the story.
func (s *story) At(d time.Duration) {
	<-time.After(time.Until(s.start.Add(d)))
	synctest.Wait()
	ok(s.T, s)
}

// Expect says what is in the queue now, and finishes it.
func (s *story) Expect(items ...string) {
	s.Helper()
	assert.Equal(s, items, takeAll(s.T, s), "at %v", time.Since(s.start))
}

func TestAddAfter_AnItemIsDueAtItsTimeAndNotBefore(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		s.AddAfter("b", 2*time.Second)
		s.AddAfter("a", time.Second)
		s.AddAfter("now", 0)
		s.AddAfter("at once", -time.Second)
		s.Expect("now", "at once")
		s.At(time.Second - 1)
		s.Expect()
		s.At(time.Second)
		s.Expect("a")
		s.At(2 * time.Second)
		s.Expect("b")
	})
}

func TestAddAfter_OfTwoTheSoonerCounts(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		s.AddAfter("hastened", time.Hour)
		s.AddAfter("hastened", time.Second)
		s.AddAfter("not put off", time.Second)
		s.AddAfter("not put off", time.Hour)
		s.At(time.Second)
		s.Expect("hastened", "not put off")
		s.At(2 * time.Hour)
		s.Expect()
	})
}

func TestAddAfter_ItemsDueAtTheSameInstantComeInTheOrderPromised(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		var want []string
		for i := range 500 {
			want = append(want, fmt.Sprint(i))
			s.AddAfter(want[i], time.Second)
		}
		s.At(time.Second)
		s.Expect(want...)
	})
}

func TestAdd_NeverCancelsALaterAddAfter(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		s.AddAfter("a", time.Second)
		s.Add("a")
		s.Expect("a")
		s.At(time.Second)
		s.Expect("a")
	})
}

func TestAddAfter_AnItemDueTwiceBeforeItIsTakenIsDeliveredOnce(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		s.AddAfter("a", time.Second)
		s.Add("a")
		s.At(time.Second)
		s.Expect("a")
		s.At(time.Hour)
		s.Expect()
	})
}

func TestAddAfter_AnItemThatFallsDueWhileProcessingComesBack(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		s.Add("a")
		take(s.T, s)
		s.AddAfter("a", time.Second)
		s.At(time.Second)
		assert.Zero(s, s.Len())
		s.Done("a")
		s.Expect("a")
	})
}

func TestMergeDelayed_AddAndAddAfterAreOnePromise(t *testing.T) {
	tell(t, Options[string]{MergeDelayed: true}, func(s *story) {
		s.AddAfterWithPriority("sooner by Add", time.Second, 7)
		s.Add("sooner by Add")
		s.AddAfter("sooner by Add", time.Second)
		_, priority, _ := s.GetWithPriority()
		assert.Equal(s, 7, priority, "the promise's priority is not lost with it")

		s.AddAfter("sooner by Add", time.Minute) // in processing: this is a new promise …
		s.Add("sooner by Add")                   // … kept by this
		s.Done("sooner by Add")
		s.Expect("sooner by Add")
		s.At(time.Hour)
		s.Expect()
	})
}

func TestAddAfterWithPriority_HasThePriorityOnceItIsDue(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		s.AddAfterWithPriority("low", time.Second, -1)
		s.AddAfterWithPriority("high", time.Second, 1)
		s.AddAfter("normal", time.Second)
		s.AddAfterWithPriority("raised", time.Minute, 2)
		s.AddAfter("raised", time.Second)
		s.At(time.Second)
		s.Expect("raised", "high", "normal", "low")
	})
}

func TestCancelDelayed_TakesAPromiseBack(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		s.AddAfter("a", time.Second)
		s.AddAfter("b", 2*time.Second)
		assert.True(s, s.CancelDelayed("a"))
		assert.False(s, s.CancelDelayed("a"))
		assert.False(s, s.CancelDelayed("stranger"))
		s.At(time.Second)
		s.Expect()
		s.At(2 * time.Second)
		assert.False(s, s.CancelDelayed("b"), "due already")
		s.Expect("b")
	})
}

func TestAddAfter_ALongDelayDoesNotOverflow(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		s.AddAfter("never", math.MaxInt64)
		s.AddAfter("a", time.Second)
		s.At(time.Second)
		s.Expect("a")
		assert.Equal(s, 1, s.Stats().Delayed)
	})
}

func TestAddAfter_WakesAWaitingWorkerForEachItem(t *testing.T) {
	tell(t, Options[string]{}, func(s *story) {
		got := make(chan string, 3)
		for range 3 {
			go func() {
				item, _ := s.Get()
				got <- item
			}()
		}
		s.AddAfter("a", time.Second)
		s.AddAfter("b", time.Second)
		s.AddAfter("c", time.Hour)
		s.At(time.Second)
		assert.Len(s, got, 2)
		s.At(time.Hour)
		assert.Len(s, got, 3)
	})
}

// asleep keeps the alarm from going off, as a busy machine does for a while.
func (s *story) asleep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextDeadline.stop()
}

func TestGet_TakesWhatIsDueWithoutWaitingForTheAlarm(t *testing.T) {
	m := &recorder{}
	tell(t, Options[string]{Metrics: m}, func(s *story) {
		s.AddAfter("a", time.Second)
		s.AddAfter("b", time.Second)
		s.asleep()
		<-time.After(time.Second)
		assert.Equal(t, "a", take(t, s))
		assert.Equal(t, "b", take(t, s))
		m.expect(t, "retried", "retried", "added", "added", "taken after 0s", "taken after 0s")
	})
}

func TestGet_LeavesToTheAlarmWhatAWorkerHas(t *testing.T) {
	m := &recorder{}
	tell(t, Options[string]{Metrics: m}, func(s *story) {
		s.Add("a")
		take(t, s)
		s.AddAfter("a", ReportPeriod/2)
		s.asleep()
		<-time.After(ReportPeriod / 2)
		m.reset()
		taken := make(chan string)
		go func() { item, _ := s.Get(); taken <- item }()
		m.expect(t)
		_, processing, _ := s.Contents()
		assert.Equal(t, map[string]bool{"a": false}, processing, "nothing is due that the metrics have not heard of")
		s.deadlineReached()
		m.expect(t, "added")
		s.Done("a")
		assert.Equal(t, "a", <-taken)
	})
}

// The alarm goes off at the same instant as these calls, before or after them.
func TestAddAfter_ADeadlineThatIsOverSwallowsNoLaterOne(t *testing.T) {
	for range 100 {
		tell(t, Options[string]{}, func(s *story) {
			s.AddAfter("x", time.Second)
			<-time.After(time.Second)
			s.AddAfter("x", 10*time.Second)
			s.At(2 * time.Second)
			s.Expect("x")
			s.At(11 * time.Second)
			s.Expect("x")
		})
	}
}

func TestCancelDelayed_AnItemWhoseDeadlineIsOverIsDue(t *testing.T) {
	for range 100 {
		tell(t, Options[string]{}, func(s *story) {
			s.AddAfter("x", time.Second)
			<-time.After(time.Second)
			assert.False(t, s.CancelDelayed("x"))
			s.At(2 * time.Second)
			s.Expect("x")
		})
	}
}
