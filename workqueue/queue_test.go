package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"
)

// By structure alone the queues are client-go's.
var (
	_ clientgo.TypedInterface[string]             = (*Queue[string])(nil)
	_ clientgo.TypedDelayingInterface[string]     = (*DelayingQueue[string])(nil)
	_ clientgo.TypedRateLimitingInterface[string] = (*RateLimitingQueue[string])(nil)
	_ Order[string]                               = clientgo.Queue[string](nil)
)

// take gets an item and fails if the queue is shut down. It blocks if there is nothing to get.
func take[T comparable](t *testing.T, q interface{ Get() (T, bool) }) T {
	t.Helper()
	item, shutdown := q.Get()
	require.False(t, shutdown)
	return item
}

// takeAll gets and finishes what is in the queue.
func takeAll[T comparable](t *testing.T, q interface {
	Get() (T, bool)
	Done(T)
	Len() int
}) []T {
	t.Helper()
	var got []T
	for q.Len() > 0 {
		got = append(got, take(t, q))
		q.Done(got[len(got)-1])
		if len(got) > 1_000_000 {
			t.Fatal("items come back for ever")
		}
	}
	return got
}

func ok(t *testing.T, q interface{ checkInvariants() error }) {
	t.Helper()
	require.NoError(t, q.checkInvariants())
}

func TestQueue_AnItemIsThereOnceHoweverOftenItIsAdded(t *testing.T) {
	q := New(Options[string]{})
	q.Add("a")
	q.Add("b")
	q.Add("a")
	assert.Equal(t, 2, q.Len())
	assert.Equal(t, []string{"a", "b"}, takeAll(t, q))
	ok(t, q)
}

func TestQueue_AnItemAddedWhileProcessingComesBackWhenDoneAndNotBefore(t *testing.T) {
	q := New(Options[string]{})
	q.Add("a")
	take(t, q)
	q.Add("a")
	q.Add("a")
	assert.Zero(t, q.Len(), "two workers would have it")
	q.Done("a")
	assert.Equal(t, []string{"a"}, takeAll(t, q))
	ok(t, q)
}

func TestQueue_DoneWithoutGetDoesNothing(t *testing.T) {
	q := New(Options[string]{})
	q.Done("stranger")
	q.Add("a")
	q.Done("a")
	ok(t, q)
	assert.Equal(t, []string{"a"}, takeAll(t, q), "client-go would deliver it twice")
}

func TestQueue_GetWaitsForAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		got := make(chan string, 3)
		for range 3 {
			go func() { got <- take(t, q) }()
		}
		synctest.Wait()
		assert.Empty(t, got)
		q.Add("a")
		q.Add("b")
		ok(t, q)
		synctest.Wait()
		assert.Len(t, got, 2)
		q.Add("c")
		assert.ElementsMatch(t, []string{"a", "b", "c"}, []string{<-got, <-got, <-got})
	})
}

func TestQueue_AHigherPriorityGoesFirstAndEqualOnesInOrderOfArrival(t *testing.T) {
	q := New(Options[string]{})
	q.AddWithPriority("low 1", -10)
	q.Add("normal 1")
	q.AddWithPriority("high", 5)
	q.AddWithPriority("low 2", -10)
	q.Add("normal 2")
	ok(t, q)
	assert.Equal(t, []string{"high", "normal 1", "normal 2", "low 1", "low 2"}, takeAll(t, q))
	ok(t, q)
}

func TestQueue_AddingAgainRaisesThePriorityAndNeverLowersIt(t *testing.T) {
	q := New(Options[string]{})
	q.AddWithPriority("a", -10)
	q.AddWithPriority("b", -10)
	q.Add("c")
	q.Add("b")
	q.AddWithPriority("c", -10)
	ok(t, q)
	assert.Equal(t, []string{"c", "b", "a"}, takeAll(t, q))

	q.Add("x")
	take(t, q)
	q.AddWithPriority("x", 1)
	q.AddWithPriority("x", 3)
	q.AddWithPriority("x", 2)
	q.Done("x")
	_, priority, _ := q.GetWithPriority()
	assert.Equal(t, 3, priority)
}

// The starvation policy: as long as there is something of a higher priority, a lower one waits.
func TestQueue_ALowPriorityWaitsAsLongAsThereIsAHigherOne(t *testing.T) {
	q := New(Options[int]{})
	q.AddWithPriority(-1, -1)
	for i := range 1000 {
		q.Add(i)
		require.Equal(t, i, take(t, q))
		q.Done(i)
	}
	assert.Equal(t, -1, take(t, q))
}

// lifo is an Order; touched items go on top again.
type lifo struct{ items []string }

func (l *lifo) Push(item string) { l.items = append(l.items, item) }
func (l *lifo) Len() int         { return len(l.items) }

func (l *lifo) Pop() string {
	last := l.items[len(l.items)-1]
	l.items = l.items[:len(l.items)-1]
	return last
}

func (l *lifo) Touch(item string) {
	for i, have := range l.items {
		if have == item {
			l.items = append(append(l.items[:i:i], l.items[i+1:]...), item)
		}
	}
}

func TestQueue_AnItemThatAnOrderKeepsIsRaisedAsAnyOther(t *testing.T) {
	q := New(Options[string]{Order: &lifo{}})
	q.AddWithPriority("a", 1)
	q.AddWithPriority("a", 7)
	q.AddWithPriority("a", 3)
	_, priority, _ := q.GetWithPriority()
	require.Equal(t, 7, priority)
}

func TestQueue_AnOrderDecidesWhichItemIsNext(t *testing.T) {
	q := New(Options[string]{Order: &lifo{}})
	q.Add("a")
	q.Add("b")
	q.Add("c")
	q.Add("a")
	ok(t, q)
	assert.Equal(t, "a", take(t, q))
	q.Add("a") // in processing: no Touch, it comes back at Done
	assert.Equal(t, 2, q.Len())
	q.Done("a")
	assert.Equal(t, []string{"a", "c", "b"}, takeAll(t, q))
	ok(t, q)
}

func TestQueue_AnItemThatCannotBeHashedPanicsAndHarmsNothing(t *testing.T) {
	q := NewDelaying(Options[any]{})
	assert.Panics(t, func() { q.Add([]int{1}) })
	assert.Panics(t, func() { q.AddAfter([]int{1}, 1) })
	q.Add("a")
	assert.Equal(t, []any{"a"}, takeAll(t, q))
	ok(t, q)
}

func TestQueue_GivesItsMemoryBackAfterABurst(t *testing.T) {
	q := New(Options[int]{})
	const burst = 100_000
	for i := range burst {
		q.Add(i)
	}
	takeAll(t, q)
	for range 2 {
		q.Add(0)
		takeAll(t, q)
	}
	ok(t, q)
	assert.LessOrEqual(t, q.spares(), spareEntries)
	assert.LessOrEqual(t, q.largest, spareEntries, "the map was not made anew")
}

func TestQueue_GivesTheMemoryOfManyPrioritiesBack(t *testing.T) {
	q := New(Options[int]{})
	for i := range 50_000 {
		q.AddWithPriority(i, i)
	}
	takeAll(t, q)
	for range 2 {
		q.Add(0)
		takeAll(t, q)
	}
	ok(t, q)
	assert.LessOrEqual(t, cap(q.waiting.levels), spareEntries)
}

func TestQueue_ThatIsNeverIdleGivesItsMemoryBackToo(t *testing.T) {
	q := NewDelaying(Options[int]{})
	defer q.ShutDown()
	q.Add(-1)
	take(t, q) // and never done
	const burst = 20_000
	for i := range burst {
		q.AddAfter(i, time.Hour)
	}
	for i := range burst {
		require.True(t, q.CancelDelayed(i))
	}
	for i := range 8 * burst {
		q.AddAfter(i, time.Hour)
		q.CancelDelayed(i)
	}
	ok(t, q)
	assert.LessOrEqual(t, q.spares(), spareEntries)
	assert.LessOrEqual(t, q.largest, spareEntries, "the map was not made anew")
	assert.LessOrEqual(t, cap(q.delayed), spareEntries)
}

func TestQueue_FillingAndEmptyingAllocatesNothing(t *testing.T) {
	q := New(Options[int]{})
	round := func() {
		for i := range 5_000 {
			q.Add(i)
		}
		for q.Len() > 0 {
			item, _ := q.Get()
			q.Done(item)
		}
	}
	round()
	assert.Zero(t, testing.AllocsPerRun(10, round))
}

func TestQueue_FillingAndEmptyingAllocatesNothingIfItIsIdleInBetween(t *testing.T) {
	q := NewDelaying(Options[int]{})
	defer q.ShutDown()
	const items = 5_000
	round := func() {
		for i := range items {
			q.AddAfter(i, time.Hour)
		}
		for i := range items - 1 {
			q.CancelDelayed(i)
		}
		for range 3 { // as if the last items were due one by one
			q.Add(-1)
			item, _ := q.Get()
			q.Done(item)
		}
		q.CancelDelayed(items - 1)
	}
	round()
	assert.Zero(t, testing.AllocsPerRun(10, round))
}

func TestQueue_AddGetDoneAllocatesNothing(t *testing.T) {
	q := New(Options[string]{})
	q.Add("warm up")
	takeAll(t, q)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		q.Add("a")
		q.AddWithPriority("b", 0)
		for range 2 {
			item, _ := q.Get()
			q.Done(item)
		}
	}))
}
