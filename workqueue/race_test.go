package workqueue

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"glasswatch/workqueue/limiters"
)

// Producers and workers on real threads: no item is with two workers at a time, and each is processed after it was last
// added.
func TestQueue_UnderRaceNoItemIsLostOrSharedAndTheDrainIsComplete(t *testing.T) {
	const items, producers, workers, rounds = 50, 4, 4, 2000
	q := NewRateLimiting(Options[int]{
		Metrics:     &recorder{},
		RateLimiter: limiters.NewItemExponentialFailureRateLimiter[int](time.Microsecond, time.Millisecond),
	})
	var asked, seen, holders [items]atomic.Int64
	var working, producing sync.WaitGroup
	for range workers {
		working.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				assert.EqualValues(t, 1, holders[item].Add(1), "shared by two workers")
				seen[item].Store(asked[item].Load())
				q.Forget(item)
				holders[item].Add(-1)
				q.Done(item)
			}
		})
	}
	for range producers {
		producing.Go(func() {
			for range rounds {
				item := rand.IntN(items)
				q.AddAfter(item, time.Duration(rand.IntN(int(time.Millisecond))))
				q.AddRateLimited(rand.IntN(items))
				q.CancelDelayed(rand.IntN(items))
				asked[item].Add(1)
				q.AddWithPriority(item, rand.IntN(3)-1)
				q.Stats()
			}
		})
	}
	producing.Wait()
	q.ShutDownWithDrain()
	for i := range items {
		assert.Equal(t, asked[i].Load(), seen[i].Load(), "item %d", i)
	}
	working.Wait()
	ok(t, q)
	assert.Equal(t, Stats{}, q.Stats())
}
