package deltafifo

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	stressProducers = 4
	stressEvents    = 3000
	stressKeys      = 7
)

// produceConcurrently lets producers write rising versions of keys of their own, with other operations in between, and
// returns when the last has finished.
func produceConcurrently(p producer) {
	var producers sync.WaitGroup
	for id := range stressProducers {
		producers.Go(func() {
			for i := range stressEvents {
				key := fmt.Sprintf("%d/%d", id, i%stressKeys)
				switch i % 100 {
				case 50:
					p.Resync()
				case 60:
					p.Bookmark("1")
				case 70:
					p.Update(failing(key, i))
				default:
					p.Update(v(key, i))
				}
				_, _ = p.Len(), p.HasSynced()
			}
		})
	}
	producers.Wait()
}

// The last version of a key is never lost, and versions of a key never go back.
func TestDeltaFIFO_ConcurrentProducersAndConsumers(t *testing.T) {
	store := newStoreModel() // guarded by the queue's own lock: that is why Pop processes under it
	f := newFIFO(store)
	var consumers sync.WaitGroup
	var popped atomic.Int64
	for range 2 {
		consumers.Go(func() {
			for {
				err := f.Pop(func(key string, ds []delta, _ bool) error {
					for _, d := range ds {
						if last := store.things[key]; last != nil && d.Obj.version < last.version {
							t.Errorf("%s went back from %d to %d", key, last.version, d.Obj.version)
						}
						store.apply([]delta{d})
						if d.Type == Updated {
							popped.Add(1)
						}
					}
					return nil
				})
				if errors.Is(err, ErrClosed) {
					return
				}
			}
		})
	}
	produceConcurrently(f)
	f.Close()
	consumers.Wait()
	assert.NoError(t, f.checkInvariants())
	// Of a hundred operations of a producer, a resync, a bookmark and a failing transform queue no Updated.
	assert.EqualValues(t, stressProducers*stressEvents*97/100, popped.Load())
	assert.Len(t, store.keys, stressProducers*stressKeys)
}

// Every event of a producer comes, in the order of that producer's calls.
func TestInOrder_ConcurrentProducersAndOneConsumer(t *testing.T) {
	q := newQueue(20)
	last := map[string]int{}
	popped := 0
	var consumer sync.WaitGroup
	consumer.Go(func() {
		for i := 0; ; i++ {
			process := func(ds []delta, _ bool) error {
				for _, d := range ds {
					if d.Type >= ReplacedAll {
						continue
					}
					if version, ok := last[d.Key]; ok && d.Obj.version <= version {
						t.Errorf("%s went back from %d to %d", d.Key, version, d.Obj.version)
					}
					last[d.Key] = d.Obj.version
					popped++
				}
				return nil
			}
			err := q.PopBatch(process)
			if errors.Is(err, ErrClosed) {
				return
			}
			if i%100 == 0 {
				assert.NoError(t, q.checkInvariants())
			}
		}
	})
	produceConcurrently(q)
	q.Close()
	consumer.Wait()
	assert.Equal(t, stressProducers*stressEvents*97/100, popped)
	assert.Len(t, last, stressProducers*stressKeys)
}
