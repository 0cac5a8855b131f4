package deltafifo

import (
	"math"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

// started runs f in a goroutine and returns a function that tells whether it is still running once nothing moves.
func started(f func()) (running func() bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return func() bool {
		synctest.Wait()
		select {
		case <-done:
			return false
		default:
			return true
		}
	}
}

func TestDeltaFIFO_PopBlocksTillThereIsAKey(t *testing.T) {
	for name, put := range map[string]func(*fifo){
		"Add":       func(f *fifo) { f.Add(v("a", 1)) },
		"Delete":    func(f *fifo) { f.Delete(v("known", 1)) },
		"DeleteKey": func(f *fifo) { f.DeleteKey("known") },
		"Replace":   func(f *fifo) { f.Replace([]*thing{v("known", 2)}, nil, "2") },
		"tombstone": func(f *fifo) { f.Replace(nil, nil, "2") },
		"Resync":    func(f *fifo) { f.Resync() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFIFO(storeOf(v("known", 1)))
				running := started(func() { assert.NoError(t, f.Pop(ignoreDeltas)) })
				assert.True(t, running())
				put(f)
				assert.False(t, running())
			})
		})
	}
}

func TestDeltaFIFO_OneReplaceWakesAConsumerForEachKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFIFO(newStoreModel())
		var consumers []func() bool
		for range 3 {
			consumers = append(consumers, started(func() { assert.NoError(t, f.Pop(ignoreDeltas)) }))
		}
		synctest.Wait()
		f.Replace([]*thing{v("a", 1), v("b", 1), v("c", 1)}, nil, "1")
		for _, running := range consumers {
			assert.False(t, running())
		}
	})
}

func TestDeltaFIFO_CloseWakesEveryPop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFIFO(newStoreModel())
		one := started(func() { assert.ErrorIs(t, f.Pop(nil), ErrClosed) })
		two := started(func() { assert.ErrorIs(t, f.Pop(nil), ErrClosed) })
		assert.True(t, one() && two())
		f.Close()
		assert.False(t, one() || two())
	})
}

func TestInOrder_PopBlocksTillThereIsAnEvent(t *testing.T) {
	for name, put := range map[string]func(*queue){
		"Add":       func(q *queue) { q.Add(v("a", 1)) },
		"DeleteKey": func(q *queue) { q.DeleteKey("a") },
		"Replace":   func(q *queue) { q.Replace(nil, nil, "1") },
		"Resync":    func(q *queue) { q.Resync() },
		"Bookmark":  func(q *queue) { q.Bookmark("1") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(0)
				running := started(func() { assert.NoError(t, q.PopBatch(ignoreBatch)) })
				assert.True(t, running())
				assert.ErrorIs(t, q.Pop(nil), ErrPopInProgress, "one consumer waits")
				put(q)
				assert.False(t, running())
			})
		})
	}
}

func TestInOrder_CloseWakesThePop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(0)
		running := started(func() { assert.ErrorIs(t, q.PopBatch(nil), ErrClosed) })
		assert.True(t, running())
		q.Close()
		assert.False(t, running())
	})
}

// behind makes a queue with batches of one, whose consumer is at a batch while so many others wait; end ends the batch.
func behind(t *testing.T, waiting int) (q *queue, end func()) {
	q = newQueue(1)
	for range 1 + waiting {
		q.Resync()
	}
	gate := make(chan struct{})
	running := started(func() { q.PopBatch(func([]delta, bool) error { <-gate; return nil }) })
	assert.True(t, running())
	return q, func() { close(gate); assert.False(t, running()) }
}

func TestInOrder_ProducersWaitWhileTheConsumerIsTwoBatchesBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, end := behind(t, 2)
		one := started(func() { q.Add(v("a", 1)) })
		two := started(func() { q.Replace(nil, nil, "1") })
		assert.True(t, one() && two())
		assert.Equal(t, 3, q.Len())
		end()
		assert.False(t, one() || two())
		assert.Equal(t, 4, q.Len())
	})
}

func TestInOrder_ProducersWaitAlsoWhileAShortBatchIsProcessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(10)
		q.Replace(nil, nil, "1") // comes alone
		for range 20 {
			q.Resync()
		}
		var producing func() bool
		assert.NoError(t, q.PopBatch(func([]delta, bool) error {
			producing = started(func() { q.Resync() })
			assert.True(t, producing())
			return nil
		}))
		assert.False(t, producing())
	})
}

func TestInOrder_ProducersDoNotWaitForAConsumerThatKeepsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, end := behind(t, 1)
		producing := started(func() {
			for range 10 {
				q.Resync()
			}
		})
		assert.False(t, producing())
		end()
	})
}

func TestInOrder_ProducersDoNotWaitWithoutALimitToBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(math.MaxInt)
		q.Add(v("a", 1))
		assert.NoError(t, q.Pop(func(delta, bool) error {
			producing := started(func() { q.Add(v("b", 1)) })
			assert.False(t, producing())
			return nil
		}))
	})
}

func TestInOrder_CloseWakesWaitingProducers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, end := behind(t, 2)
		producing := started(func() { q.Add(v("a", 1)) })
		assert.True(t, producing())
		q.Close()
		assert.False(t, producing())
		end()
	})
}

func TestTransform_RunsWithNoLockHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		slow := func(th *thing) (*thing, error) {
			if th.name == "slow" {
				<-gate
			}
			return th, nil
		}
		f := NewDeltaFIFO(Options[string, *thing]{KeyFunc: nameOf, Transform: slow})
		q := NewInOrder(Options[string, *thing]{KeyFunc: nameOf, Transform: slow})
		transforming := started(func() { f.Add(v("slow", 1)); q.Add(v("slow", 1)) })
		others := started(func() {
			f.Add(v("a", 1))
			q.Add(v("a", 1))
			assert.NoError(t, f.Pop(ignoreDeltas))
			assert.NoError(t, q.PopBatch(ignoreBatch))
		})
		assert.False(t, others())
		assert.True(t, transforming())
		close(gate)
		assert.False(t, transforming())
	})
}

func TestOnError_MayCallTheQueue(t *testing.T) {
	var f *fifo
	var q *queue
	opts := Options[string, *thing]{KeyFunc: nameOf, Transform: transform}
	opts.OnError = func(key string, _ error) { f.Add(v("instead", 1)) }
	f = NewDeltaFIFO(opts)
	opts.OnError = func(key string, _ error) { q.Add(v("instead", 1)) }
	q = NewInOrder(opts)
	f.Add(failing("a", 1))
	q.Add(failing("a", 1))
	assert.Equal(t, 1, f.Len())
	assert.Equal(t, []string{"Added instead(instead@1)"}, batches(t, q))
}
