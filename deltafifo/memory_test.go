package deltafifo

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"

	"glasswatch/internal/shrink"
)

// burst is far more than the queues keep memory for.
const burst = 20 * shrink.Kept

func TestDeltaFIFO_AllocatesNothingInSteadyState(t *testing.T) {
	f := NewDeltaFIFO(Options[string, *thing]{KeyFunc: nameOf})
	things := many(100)
	round := func() {
		for _, th := range things {
			f.Update(th)
		}
		for range things {
			f.Pop(ignoreDeltas)
		}
	}
	round()
	assert.Zero(t, testing.AllocsPerRun(10, round))
}

func TestInOrder_AllocatesNothingInSteadyState(t *testing.T) {
	q := NewInOrder(Options[string, *thing]{KeyFunc: nameOf})
	things := many(3000)
	round := func() {
		for _, th := range things {
			q.Update(th)
		}
		for q.Len() > 0 {
			q.PopBatch(ignoreBatch)
		}
	}
	round()
	round() // both buffers have their size
	assert.Zero(t, testing.AllocsPerRun(10, round))
}

func many(n int) []*thing {
	things := make([]*thing, n)
	for i := range things {
		things[i] = v(fmt.Sprint(i), 1)
	}
	return things
}

func TestDeltaFIFO_GivesMemoryBackAfterABurst(t *testing.T) {
	f := NewDeltaFIFO(Options[string, *thing]{KeyFunc: nameOf})
	for _, th := range many(burst) {
		f.Update(th)
	}
	for f.Len() > 0 {
		f.Pop(ignoreDeltas)
	}
	f.Update(v("a", 1))
	f.Pop(ignoreDeltas)
	assert.LessOrEqual(t, len(f.free), shrink.Kept)
}

func TestDeltaFIFO_AListOfUnreadObjectsTakesNoMemory(t *testing.T) {
	f := newFIFO(newStoreModel())
	unread := many(burst)
	keep := make([]string, len(unread))
	for i, th := range unread {
		keep[i], th.failing = th.name, true
	}
	assert.NoError(t, f.Replace(unread, nil, "1"))
	assert.NoError(t, f.Replace(nil, keep, "2"))
	assert.Empty(t, f.items)
	assert.Zero(t, cap(f.free))
}

func TestDeltaFIFO_GivesMemoryBackWhileOthersProduce(t *testing.T) {
	f := NewDeltaFIFO(Options[string, *thing]{KeyFunc: nameOf})
	drain := func() {
		for f.Len() > 0 {
			f.Pop(ignoreDeltas)
		}
	}
	var producer sync.WaitGroup
	producer.Go(func() {
		for i := range 5000 {
			f.Update(v("a", i))
		}
	})
	for range 5 {
		for _, th := range many(2 * shrink.Kept) {
			f.Update(th)
		}
		drain()
		f.Update(v("b", 1))
		drain()
	}
	producer.Wait()
	drain()
	f.Update(v("b", 2))
	drain()
	assert.LessOrEqual(t, len(f.free), shrink.Kept)
	assert.NoError(t, f.checkInvariants())
}

func TestDeltaFIFO_AKeyOfManyChangesLeavesNoLongListBehind(t *testing.T) {
	f := newFIFO(newStoreModel())
	for i := range 1000 {
		f.Update(v("a", i))
	}
	f.Pop(ignoreDeltas)
	assert.NoError(t, f.checkInvariants())
}

func TestInOrder_GivesMemoryBackAfterABurst(t *testing.T) {
	q := NewInOrder(Options[string, *thing]{KeyFunc: nameOf})
	for range 2 { // a burst for each buffer
		for _, th := range many(burst) {
			q.Update(th)
		}
		for q.Len() > 0 {
			q.PopBatch(ignoreBatch)
		}
	}
	for range 128 { // each buffer is used a little, and seen to be too large
		q.Update(v("a", 1))
		q.PopBatch(ignoreBatch)
	}
	assert.LessOrEqual(t, cap(q.taken), shrink.Kept)
	assert.LessOrEqual(t, cap(q.tail), shrink.Kept)
}

func TestInOrder_GivesTheKeysOfALargeBatchBack(t *testing.T) {
	q := newQueue(burst)
	for _, th := range many(burst) {
		q.Update(th)
	}
	q.PopBatch(ignoreBatch)
	large := reflect.ValueOf(q.seen).Pointer()
	for range 128 { // each buffer is used a little, and seen to be too large
		q.Update(v("a", 1))
		q.Update(v("b", 1))
		q.PopBatch(ignoreBatch)
	}
	assert.NotEqual(t, large, reflect.ValueOf(q.seen).Pointer(), "the map was not made anew")
}

func TestQueues_KeepNoProcessedObjectAlive(t *testing.T) {
	f := newFIFO(newStoreModel())
	q := newQueue(0)
	var seen []weak.Pointer[thing]
	put := func() {
		for i := range 10 {
			a, b, c := v(fmt.Sprint(i), 1), v(fmt.Sprint(i), 2), v(fmt.Sprint(i), 3)
			seen = append(seen, weak.Make(a), weak.Make(b), weak.Make(c))
			f.Add(a)
			q.Add(b)
			q.Replace([]*thing{c}, nil, "1")
		}
	}
	put()
	for f.Len() > 0 {
		f.Pop(ignoreDeltas)
	}
	for q.Len() > 0 {
		q.PopBatch(ignoreBatch)
	}
	runtime.GC()
	for i, w := range seen {
		assert.Nil(t, w.Value(), "object %d", i)
	}
	runtime.KeepAlive(f)
	runtime.KeepAlive(q)
}
