package workqueue

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// inBubble checks that each of the queues is shut down with no goroutine left.
func inBubble[Q interface{ ShutDown() }](t *testing.T, queues map[string]func() Q, story func(t *testing.T, q Q)) {
	t.Helper()
	for name, newQueue := range queues {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue()
				defer q.ShutDown()
				story(t, q)
			})
		})
	}
}

func takeAny(t *testing.T, q Interface, want any) {
	t.Helper()
	synctest.Wait()
	require.Equal(t, 1, q.Len())
	got, shutdown := q.Get()
	require.False(t, shutdown)
	require.Equal(t, want, got)
	q.Done(got)
}

func TestDeprecated_QueuesHoldItemsOfAnyType(t *testing.T) {
	queues := map[string]func() *Type{
		"New":           New,
		"NewNamed":      func() *Type { return NewNamed("n") },
		"NewWithConfig": func() *Type { return NewWithConfig(QueueConfig{Name: "n"}) },
	}
	inBubble(t, queues, func(t *testing.T, q *Type) {
		q.Add("text")
		q.Add("text")
		takeAny(t, q, "text")
		q.Add(7)
		takeAny(t, q, 7)
	})
}

func TestDeprecated_DelayingQueuesDelay(t *testing.T) {
	config := DelayingQueueConfig{Name: "n"}
	queues := map[string]func() DelayingInterface{
		"NewDelayingQueue":                NewDelayingQueue,
		"TypedNewDelayingQueue":           func() DelayingInterface { return TypedNewDelayingQueue[any]() },
		"NewNamedDelayingQueue":           func() DelayingInterface { return NewNamedDelayingQueue("n") },
		"NewDelayingQueueWithConfig":      func() DelayingInterface { return NewDelayingQueueWithConfig(config) },
		"NewDelayingQueueWithCustomQueue": func() DelayingInterface { return NewDelayingQueueWithCustomQueue(New(), "n") },
		"NewDelayingQueueWithCustomClock": func() DelayingInterface {
			return NewDelayingQueueWithCustomClock(clock.RealClock{}, "n")
		},
	}
	inBubble(t, queues, func(t *testing.T, q DelayingInterface) {
		q.AddAfter(7, time.Minute)
		<-time.After(time.Minute - 1)
		synctest.Wait()
		require.Zero(t, q.Len())
		<-time.After(1)
		takeAny(t, q, 7)
	})
}

func TestDeprecated_TheCustomQueueAndClockAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := New()
		NewDelayingQueueWithCustomQueue(below, "n").Add(7)
		takeAny(t, below, 7)

		fake := clocktesting.NewFakeClock(time.Now())
		q := NewDelayingQueueWithCustomClock(fake, "n")
		defer q.ShutDown()
		q.AddAfter(7, time.Minute)
		synctest.Wait()
		fake.Step(time.Minute)
		takeAny(t, q, 7)
	})
}

func TestDeprecated_RateLimitingQueuesAskTheLimiter(t *testing.T) {
	limiter := func() RateLimiter { return NewItemExponentialFailureRateLimiter(time.Second, time.Hour) }
	config := RateLimitingQueueConfig{Name: "n"}
	queues := map[string]func() RateLimitingInterface{
		"NewRateLimitingQueue":      func() RateLimitingInterface { return NewRateLimitingQueue(limiter()) },
		"NewNamedRateLimitingQueue": func() RateLimitingInterface { return NewNamedRateLimitingQueue(limiter(), "n") },
		"NewRateLimitingQueueWithConfig": func() RateLimitingInterface {
			return NewRateLimitingQueueWithConfig(limiter(), config)
		},
		"NewRateLimitingQueueWithDelayingInterface": func() RateLimitingInterface {
			return NewRateLimitingQueueWithDelayingInterface(NewDelayingQueue(), limiter())
		},
	}
	inBubble(t, queues, func(t *testing.T, q RateLimitingInterface) {
		for failures, delay := range []time.Duration{time.Second, 2 * time.Second} {
			require.Equal(t, failures, q.NumRequeues(7))
			q.AddRateLimited(7)
			<-time.After(delay - 1)
			synctest.Wait()
			require.Zero(t, q.Len())
			<-time.After(1)
			takeAny(t, q, 7)
		}
		q.Forget(7)
		require.Zero(t, q.NumRequeues(7))
	})
}

func TestDeprecated_TheDelayingQueueGivenIsUsed(t *testing.T) {
	below := NewDelayingQueue()
	q := NewRateLimitingQueueWithDelayingInterface(below, DefaultControllerRateLimiter())
	defer q.ShutDown()
	q.Add(7)
	require.Equal(t, 1, below.Len())
}

func TestDeprecated_LimitersDelayAsTheTypedOnes(t *testing.T) {
	const ms = time.Millisecond
	slow := func() RateLimiter { return NewItemFastSlowRateLimiter(ms, 5*ms, 1) }
	for _, l := range []struct {
		name    string
		limiter RateLimiter
		want    []time.Duration
	}{
		{"exponential", NewItemExponentialFailureRateLimiter(2*ms, 7*ms), []time.Duration{2 * ms, 4 * ms, 7 * ms}},
		{"fast and slow", slow(), []time.Duration{ms, 5 * ms, 5 * ms}},
		{"longest", NewMaxOfRateLimiter(slow(), DefaultItemBasedRateLimiter()), []time.Duration{ms, 5 * ms, 5 * ms}},
		{"capped", NewWithMaxWaitRateLimiter(slow(), 3*ms), []time.Duration{ms, 3 * ms, 3 * ms}},
		{"by item", DefaultItemBasedRateLimiter(), []time.Duration{ms, 2 * ms, 4 * ms}},
		{"for controllers", DefaultControllerRateLimiter(), []time.Duration{5 * ms, 10 * ms, 20 * ms}},
		{"bucket", &BucketRateLimiter{Limiter: rate.NewLimiter(rate.Inf, 0)}, []time.Duration{0, 0, 0}},
	} {
		t.Run(l.name, func(t *testing.T) {
			for _, want := range l.want {
				require.Equal(t, want, l.limiter.When("item"))
			}
		})
	}
}

func TestDeprecated_StructsAreWhatTheConstructorsReturn(t *testing.T) {
	require.IsType(t, &ItemExponentialFailureRateLimiter{}, NewItemExponentialFailureRateLimiter(1, 1))
	require.IsType(t, &ItemFastSlowRateLimiter{}, NewItemFastSlowRateLimiter(1, 1, 1))
	require.IsType(t, &MaxOfRateLimiter{}, NewMaxOfRateLimiter())
	require.IsType(t, &WithMaxWaitRateLimiter{}, NewWithMaxWaitRateLimiter(DefaultItemBasedRateLimiter(), 1))
}

func TestDeprecated_NamesGoToTheQueues(t *testing.T) {
	limiter := DefaultControllerRateLimiter()
	for _, q := range []Interface{
		NewNamed("n"), NewWithConfig(QueueConfig{Name: "n"}),
		NewNamedDelayingQueue("n"), NewDelayingQueueWithConfig(DelayingQueueConfig{Name: "n"}),
		NewDelayingQueueWithCustomClock(clock.RealClock{}, "n"),
		NewNamedRateLimitingQueue(limiter, "n"), NewRateLimitingQueueWithConfig(limiter, RateLimitingQueueConfig{Name: "n"}),
	} {
		require.Equal(t, "n", q.(interface{ Name() string }).Name())
		q.ShutDown()
	}
}

// Code on client-go declares variables and parameters of these types, which must be the very same.
func TestDeprecated_ContractsAreClientGos(t *testing.T) {
	for _, contract := range []reflect.Type{
		reflect.TypeFor[Interface](), reflect.TypeFor[DelayingInterface](), reflect.TypeFor[RateLimitingInterface](),
		reflect.TypeFor[RateLimiter](),
		reflect.TypeFor[QueueConfig](), reflect.TypeFor[DelayingQueueConfig](), reflect.TypeFor[RateLimitingQueueConfig](),
	} {
		require.Equal(t, "k8s.io/client-go/util/workqueue", contract.PkgPath(), contract)
	}
}
