package workqueue

import (
	"math/bits"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	clientgo "k8s.io/client-go/util/workqueue"
)

func TestStory_AnItemFromAddToForget(t *testing.T) {
	inBothWorlds(t, func(t *testing.T, w world) {
		limiter := w.exponential(time.Second, time.Minute)
		q := w.rateLimiting(limiter, TypedRateLimitingQueueConfig[string]{Name: "story"})
		q.Add("pod")
		q.Add("pod")
		q.Add("node")
		expectGet(t, q, "pod")
		q.Add("pod")
		expectGet(t, q, "node")
		q.Done("node")
		expectEmpty(t, q)
		q.Done("pod")
		expectGet(t, q, "pod")

		q.AddRateLimited("pod")
		q.Done("pod")
		require.Equal(t, 1, q.NumRequeues("pod"))
		<-time.After(999 * time.Millisecond)
		expectEmpty(t, q)
		<-time.After(time.Millisecond)
		expectGet(t, q, "pod")
		q.AddRateLimited("pod")
		q.Done("pod")
		<-time.After(1999 * time.Millisecond)
		expectEmpty(t, q)
		<-time.After(time.Millisecond)
		expectGet(t, q, "pod")
		q.Forget("pod")
		require.Zero(t, q.NumRequeues("pod"))
		q.Done("pod")

		q.Add("last")
		q.AddAfter("never", time.Hour)
		q.ShutDown()
		q.Add("late")
		q.AddAfter("late", 0)
		expectGet(t, q, "last")
		q.Done("last")
		expectShutdown(t, q)
	})
}

func TestStory_OfTwoDelaysTheSoonerCounts(t *testing.T) {
	inBothWorlds(t, func(t *testing.T, w world) {
		q := w.delaying(TypedDelayingQueueConfig[string]{})
		defer q.ShutDown()
		q.AddAfter("a", 3*time.Second)
		q.AddAfter("a", time.Second)
		q.AddAfter("a", 2*time.Second)
		q.AddAfter("b", 500*time.Millisecond)
		q.AddAfter("now", -1)
		expectGet(t, q, "now")
		<-time.After(time.Second)
		expectGet(t, q, "b")
		expectGet(t, q, "a")
		q.Done("a")
		<-time.After(time.Minute)
		expectEmpty(t, q)
	})
}

func TestStory_ADrainWaitsForItemsInProcessingAndAShutDownEndsIt(t *testing.T) {
	inBothWorlds(t, func(t *testing.T, w world) {
		for _, end := range []func(TypedInterface[string]){
			func(q TypedInterface[string]) { q.Done("a") },
			func(q TypedInterface[string]) { q.ShutDown() },
		} {
			q := w.typed(TypedQueueConfig[string]{})
			q.Add("a")
			expectGet(t, q, "a")
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				q.ShutDownWithDrain()
			}()
			synctest.Wait()
			select {
			case <-drained:
				t.Fatal("the drain ended with an item in processing")
			default:
			}
			expectShutdown(t, q)
			end(q)
			<-drained
		}
	})
}

// Workers that stop at the end of their context leave items in the queue. A program that drains it then must end.
func TestStory_ADrainDoesNotWaitForItemsThatNobodyTook(t *testing.T) {
	inBothWorlds(t, func(t *testing.T, w world) {
		for _, q := range []TypedDelayingInterface[string]{
			w.delaying(TypedDelayingQueueConfig[string]{}),
			w.rateLimiting(w.exponential(time.Second, time.Minute), TypedRateLimitingQueueConfig[string]{}),
		} {
			drainAfterTheWorkersAreGone(t, q)
		}
		q := w.typed(TypedQueueConfig[string]{})
		q.Add("queued")
		require.True(t, drains(q))
	})
}

func drainAfterTheWorkersAreGone(t *testing.T, q TypedDelayingInterface[string]) {
	q.Add("taken")
	q.Add("queued")
	q.AddAfter("due", time.Second)
	<-time.After(2 * time.Second)
	expectGet(t, q, "taken")
	q.Add("taken") // again
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		q.ShutDownWithDrain()
	}()
	synctest.Wait()
	select {
	case <-drained:
		t.Fatal("the drain ended with an item in processing")
	default:
	}
	q.Done("taken")
	synctest.Wait()
	select {
	case <-drained:
	default:
		t.Error("the drain waits for items that nobody took")
	}
	q.ShutDown()
	<-drained
	for _, item := range []string{"queued", "due", "taken"} {
		expectGet(t, q, item)
		q.Done(item)
	}
	expectShutdown(t, q)
}

// drains reports whether a drain of q ends by itself.
func drains(q TypedInterface[string]) bool {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		q.ShutDownWithDrain()
	}()
	synctest.Wait()
	select {
	case <-drained:
		return true
	default:
		q.ShutDown()
		<-drained
		return false
	}
}

func TestDifference_DoneForAnItemThatWasNotTakenDoesNothing(t *testing.T) {
	queued := func(w world) int {
		q := w.typed(TypedQueueConfig[string]{})
		defer q.ShutDown()
		q.Add("a")
		q.Done("a")
		return q.Len()
	}
	require.Equal(t, 2, queued(clientGo))
	require.Equal(t, 1, queued(glasswatch))
}

func TestDifference_ALimiterForgetsTheItemThatFailedLongestAgoRatherThanGrow(t *testing.T) {
	l := NewTypedItemExponentialFailureRateLimiter[int](time.Second, time.Hour)
	l.(*TypedItemExponentialFailureRateLimiter[int]).MaxTracked = 2
	for i := range 3 {
		l.When(i)
	}
	require.Zero(t, l.NumRequeues(0))
	require.Equal(t, 1, l.NumRequeues(1))
	require.Equal(t, 1, l.NumRequeues(2))
}

// A base of 2ⁿ ns becomes 2⁶³ ns exactly, which client-go takes for a delay that has passed: one retry without any
// delay.
func TestDifference_ABackoffNeverOverflows(t *testing.T) {
	delay := func(w world) (d time.Duration) {
		l := w.exponential(1<<52, time.Hour)
		for range 12 {
			d = l.When("a")
		}
		return d
	}
	require.Negative(t, delay(clientGo))
	require.Equal(t, time.Hour, delay(glasswatch))
}

// TestQueue_DoesAsClientGoDoesWhateverHappens plays random calls to both.
func TestQueue_DoesAsClientGoDoesWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var queues []TypedInterface[string]
		lifo := rapid.Bool().Draw(t, "lifo")
		for _, w := range []world{clientGo, glasswatch} {
			config := TypedQueueConfig[string]{}
			if lifo {
				config.Queue = &stack{}
			}
			queues = append(queues, w.typed(config))
		}
		theirs, ours := queues[0], queues[1]
		items := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		taken := map[string]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				item := items.Draw(t, "item")
				theirs.Add(item)
				ours.Add(item)
			},
			"get": func(t *rapid.T) {
				if theirs.Len() == 0 && !theirs.ShuttingDown() {
					return
				}
				want, wantShutdown := theirs.Get()
				got, gotShutdown := ours.Get()
				require.Equal(t, want, got)
				require.Equal(t, wantShutdown, gotShutdown)
				if !gotShutdown {
					taken[got] = true
				}
			},
			"done": func(t *rapid.T) {
				item := items.Draw(t, "item")
				if taken[item] {
					delete(taken, item)
					theirs.Done(item)
					ours.Done(item)
				}
			},
			"shut down": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "chance") == 0 {
					theirs.ShutDown()
					ours.ShutDown()
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, theirs.Len(), ours.Len())
				require.Equal(t, theirs.ShuttingDown(), ours.ShuttingDown())
			},
		})
	})
}

// stack is a Queue that hands out last what came first, and an item touched next.
type stack struct{ items []string }

func (s *stack) Touch(item string) {
	for i, x := range s.items {
		if x == item {
			s.items = append(append(s.items[:i:i], s.items[i+1:]...), item)
			return
		}
	}
}
func (s *stack) Push(item string) { s.items = append(s.items, item) }
func (s *stack) Len() int         { return len(s.items) }
func (s *stack) Pop() string {
	last := len(s.items) - 1
	item := s.items[last]
	s.items = s.items[:last]
	return item
}

func TestDefaultQueue_HandsOutInOrderOfArrivalAsClientGoDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		theirs, ours := clientGo.storage(), glasswatch.storage()
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					next++
					theirs.Push(strconv.Itoa(next))
					ours.Push(strconv.Itoa(next))
				}
			},
			"pop": func(t *rapid.T) {
				for range min(rapid.IntRange(1, 50).Draw(t, "n"), theirs.Len()) {
					require.Equal(t, theirs.Pop(), ours.Pop())
				}
			},
			"touch": func(t *rapid.T) { ours.Touch("x") },
			"": func(t *rapid.T) {
				require.Equal(t, theirs.Len(), ours.Len())
				f := ours.(*fifo[string])
				for i := f.len; i < len(f.ring); i++ {
					require.Empty(t, f.ring[(f.first+i)%len(f.ring)], "a freed slot keeps its item")
				}
				require.LessOrEqual(t, len(f.ring), max(4*f.len+4, smallestRing))
			},
		})
	})
	require.Panics(t, func() { DefaultQueue[string]().Pop() })
}

func TestLimiters_GiveTheDelaysOfClientGo(t *testing.T) {
	durations := rapid.OneOf(rapid.Int64Range(0, int64(time.Hour)), rapid.Int64Range(0, 1<<52))
	rapid.Check(t, func(t *rapid.T) {
		d := func(name string) time.Duration { return time.Duration(durations.Draw(t, name)) }
		base, ceiling, fast, slow, wait := d("base"), d("ceiling"), d("fast"), d("slow"), d("wait")
		if bits.OnesCount64(uint64(base)) == 1 {
			base += 3 // see TestDifference_ABackoffNeverOverflows
		}
		attempts := rapid.IntRange(-1, 5).Draw(t, "attempts")
		kind := rapid.IntRange(0, 4).Draw(t, "kind")
		limiter := func(w world) TypedRateLimiter[string] {
			return []TypedRateLimiter[string]{
				w.exponential(base, ceiling),
				w.fastSlow(fast, slow, attempts),
				w.maxOf(w.exponential(base, ceiling), w.fastSlow(fast, slow, attempts)),
				w.maxWait(w.exponential(base, ceiling), wait),
				w.itemBased(),
			}[kind]
		}
		theirs, ours := limiter(clientGo), limiter(glasswatch)
		items := rapid.SampledFrom([]string{"a", "b"})
		t.Repeat(map[string]func(*rapid.T){
			"when": func(t *rapid.T) {
				item := items.Draw(t, "item")
				require.Equal(t, theirs.When(item), ours.When(item))
			},
			"forget": func(t *rapid.T) {
				if item := items.Draw(t, "item"); rapid.IntRange(0, 9).Draw(t, "chance") == 0 {
					theirs.Forget(item)
					ours.Forget(item)
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, theirs.NumRequeues("a"), ours.NumRequeues("a"))
				require.Equal(t, theirs.NumRequeues("b"), ours.NumRequeues("b"))
			},
		})
	})
}

func TestDefaultTypedControllerRateLimiter_HasTheBucketAndTheBackoffOfClientGo(t *testing.T) {
	var delays [2][]time.Duration
	for i, w := range []world{clientGo, glasswatch} {
		synctest.Test(t, func(t *testing.T) {
			l := w.controllerWide()
			for range 30 {
				delays[i] = append(delays[i], l.When("a"))
			}
			for range 200 {
				delays[i] = append(delays[i], l.When("b"))
				l.Forget("b")
			}
		})
	}
	require.Equal(t, delays[0], delays[1])
	require.Equal(t, 1000*time.Second, delays[1][29])
	require.Greater(t, delays[1][229], 12*time.Second, "the bucket should be empty")
}

func TestBucketLimiter_IsWrittenAsInClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := &TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(1, 1)}
		var contract clientgo.TypedRateLimiter[string] = NewTypedMaxOfRateLimiter(
			NewTypedItemFastSlowRateLimiter[string](time.Millisecond, time.Second, 1), bucket)
		require.Equal(t, time.Millisecond, contract.When("a"))
		require.Equal(t, time.Second, contract.When("b"))
		require.Zero(t, bucket.NumRequeues("a"))
	})
}
