package indexer

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGetByKey_NeverGoesBackInTimeNorAstray among writes of every kind: an object has the key it was asked for, and is
// no older than what was seen under that key before.
func TestGetByKey_NeverGoesBackInTimeNorAstray(t *testing.T) {
	const keys = 1000
	s := newItems(Indexers[*item]{"group": byGroup})
	version := 0
	object := func() *item {
		version++
		return &item{key: fmt.Sprint(rand.IntN(keys)), version: version, group: fmt.Sprint(rand.IntN(3))}
	}
	var wg sync.WaitGroup
	var done atomic.Bool
	write(&wg, &done, 20_000, func(i int) {
		switch {
		case i%5000 == 0:
			objs := make([]*item, keys/2)
			for i := range objs {
				objs[i] = object()
			}
			_ = s.Replace(objs, "")
		case i%2000 < 300: // until chunks and the lists of chunks go
			s.DeleteKey(fmt.Sprint(rand.IntN(keys)))
		case i%2000 < 600:
			_ = s.Add(object())
		case i%50 == 0:
			ops := make([]Op[string, *item], 20)
			for i := range ops {
				o := object()
				ops[i] = Op[string, *item]{Key: o.key, Obj: o, Delete: rand.IntN(50) == 0}
			}
			s.Apply(ops, "")
		default:
			if o := object(); i%2 == 0 {
				_ = s.Update(o)
			} else if old, ok := s.GetByKey(o.key); ok && old.key != o.key {
				t.Errorf("the writer was given %s for %s", old.key, o.key)
			}
		}
	})
	for range 3 {
		wg.Go(func() {
			seen, gone := map[string]int{}, map[string]bool{}
			for n := 0; !done.Load(); n++ {
				key := fmt.Sprint(rand.IntN(keys))
				var o *item
				var ok bool
				switch n % 64 {
				default:
					o, ok = s.GetByKey(key)
				case 1:
					o, ok = s.Snapshot().Get(key)
				}
				switch {
				case !ok:
					gone[key] = true
				case o.key != key:
					t.Errorf("%s was asked for, %s was given", key, o.key)
					return
				case o.version < seen[key] || gone[key] && o.version == seen[key]:
					t.Errorf("%s: version %d after %d, gone meanwhile: %v", key, o.version, seen[key], gone[key])
					return
				default:
					seen[key], gone[key] = o.version, false
				}
			}
		})
	}
	wg.Wait()
	checkInvariants(t, s)
}

// TestGetByKey_KnowsEveryWriteThatIsOver while snapshots are taken: the writer reads its own writes, and others what Len
// has counted.
func TestGetByKey_KnowsEveryWriteThatIsOver(t *testing.T) {
	s := newItems(nil)
	stored := func(n int) {
		if _, ok := s.GetByKey(fmt.Sprint(n)); !ok {
			t.Errorf("object %d is missing, of %d", n, s.Len())
		}
	}
	var wg sync.WaitGroup
	var done atomic.Bool
	write(&wg, &done, 50_000, func(i int) {
		_ = s.Add(&item{key: fmt.Sprint(i)})
		stored(i)
	})
	wg.Go(func() {
		for !done.Load() && !t.Failed() {
			s.Snapshot()
			if n := s.Len(); n > 0 {
				stored(n - 1)
			}
		}
	})
	wg.Wait()
	require.Equal(t, 50_000, s.Len())
}

// TestIndex_WhileAnIndexIsMadeAnew is for -race: Index calls the index function with the store unlocked.
func TestIndex_WhileAnIndexIsMadeAnew(t *testing.T) {
	const values = 2 * chunkLen
	s := newItems(Indexers[*item]{"group": byGroup})
	var wg sync.WaitGroup
	var done atomic.Bool
	write(&wg, &done, 50*values, func(i int) { // up to all values, and down again: then the map is made anew
		o := &item{key: fmt.Sprint(i % values), group: fmt.Sprint(i % values)}
		if i/values%2 == 0 {
			_ = s.Add(o)
		} else {
			_ = s.Delete(o)
		}
	})
	for !done.Load() {
		_, err := s.Index("group", &item{key: "x", group: "1"})
		require.NoError(t, err)
	}
	wg.Wait()
}
