package indexer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// write runs f n times in a goroutine of wg and sets done at the end.
func write(wg *sync.WaitGroup, done *atomic.Bool, n int, f func(i int)) {
	wg.Go(func() {
		defer done.Store(true)
		for i := range n {
			f(i)
		}
	})
}

// TestApply_IsSeenWholeByReadersInAnyOrder writes the same version to several keys in one transaction.
// Whatever a reader looks at next, it never sees an older version than before.
func TestApply_IsSeenWholeByReadersInAnyOrder(t *testing.T) {
	s := newItems(Indexers[*item]{"group": byGroup, "parity": byParity})
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	ops := func(version int) []Op[string, *item] {
		ops := make([]Op[string, *item], len(keys))
		for i, k := range keys {
			ops[i] = Op[string, *item]{Key: k, Obj: &item{key: k, version: version, group: "g"}}
		}
		rand.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
		return ops
	}
	s.Apply(ops(0), "")
	// Each look returns the versions it saw.
	looks := []func() []int{
		func() []int { o, _ := s.GetByKey(keys[rand.IntN(len(keys))]); return []int{o.version} },
		func() []int { o, _ := s.GetByKey(keys[rand.IntN(len(keys))]); return []int{o.version} },
		func() []int { return versions(s.List()) },
		func() []int { objs, _ := s.ByIndex("group", "g"); return versions(objs) },
		func() []int { s.Snapshot(); o, _ := s.GetByKey(keys[rand.IntN(len(keys))]); return []int{o.version} },
		func() []int {
			even, _ := s.ByIndex("parity", "even")
			odd, _ := s.ByIndex("parity", "odd")
			if len(even)+len(odd) == 0 {
				return []int{-1}
			}
			return versions(slices.Concat(even, odd)[:1]) // two reads: not one moment
		},
		func() []int {
			snap := s.Snapshot()
			even, _ := snap.ByIndex("parity", "even")
			odd, _ := snap.ByIndex("parity", "odd")
			var got []int
			for _, seq := range []func(func(string, *item) bool){even, odd, snap.All()} {
				for k, o := range seq {
					other, _ := snap.Get(k)
					got = append(got, o.version, other.version)
				}
			}
			return got
		},
	}
	var wg sync.WaitGroup
	var done atomic.Bool
	write(&wg, &done, 3000, func(i int) { s.Apply(ops(i+1), "") })
	for range 3 {
		wg.Go(func() {
			last := 0
			for !done.Load() {
				look := rand.IntN(len(looks))
				for i, v := range looks[look]() {
					if v < last && look != 5 || i > 0 && v != last {
						t.Errorf("look %d: version %d after %d", look, v, last)
						return
					}
					last = max(last, v)
				}
			}
		})
	}
	wg.Wait()
	checkInvariants(t, s)
}

func versions(objs []*item) []int {
	var vs []int
	for _, o := range objs {
		vs = append(vs, o.version)
	}
	return vs
}

func newItems(indexers Indexers[*item]) *Store[string, *item] {
	return New(Options[string, *item]{KeyFunc: itemKey, Compare: strings.Compare, Indexers: indexers})
}

func TestReplace_IsSeenWholeByReaders(t *testing.T) {
	s := newItems(Indexers[*item]{"group": byGroup})
	content := func(version int) []*item {
		objs := make([]*item, 300+version%2*300)
		for i := range objs {
			objs[i] = &item{key: fmt.Sprint(i), version: version, group: fmt.Sprint(i % 3)}
		}
		return objs
	}
	require.NoError(t, s.Replace(content(0), "0"))
	var wg sync.WaitGroup
	var done atomic.Bool
	write(&wg, &done, 150, func(i int) { _ = s.Replace(content(i+1), fmt.Sprint(i+1)) })
	for range 3 {
		wg.Go(func() {
			last := 0
			for !done.Load() {
				snap := s.Snapshot()
				objs := s.List()
				group, _ := s.ByIndex("group", "1")
				single, _ := s.GetByKey("7")
				seen := append(append(versions(objs), versions(group)...), single.version)
				if !slices.IsSorted(seen) || seen[0] < last {
					t.Error("a read went back in time, or a Replace was seen in part")
					return
				}
				last = seen[len(seen)-1]
				want := fmt.Sprint(300 + objs[0].version%2*300)
				if got := fmt.Sprint(len(objs)); got != want {
					t.Errorf("version %d has %s objects, want %s", objs[0].version, got, want)
					return
				}
				if snap.ResourceVersion() != fmt.Sprint(must(snap.Get("7")).version) {
					t.Error("the snapshot's resourceVersion is of another moment")
					return
				}
			}
		})
	}
	wg.Wait()
	checkInvariants(t, s)
}

func must(o *item, ok bool) *item {
	if !ok {
		panic("not there")
	}
	return o
}

// TestStore_OneOfEverythingAtOnce lets the race detector look.
func TestStore_OneOfEverythingAtOnce(t *testing.T) {
	s := newItems(Indexers[*item]{"group": byGroup, "tags": byTags})
	key := func() string { return fmt.Sprint(rand.IntN(2000)) }
	obj := func() *item {
		return &item{key: key(), group: fmt.Sprint(rand.IntN(20)), tags: []string{key(), "t"}[:rand.IntN(3)]}
	}
	var objs []*item
	for range 1500 {
		objs = append(objs, obj())
	}
	actions := []func(){
		func() { _ = s.Add(obj()) },
		func() { s.DeleteKey(key()) },
		func() { s.GetByKey(key()) },
		func() { s.Snapshot(); s.GetByKey(key()) },
		func() { _, _ = s.ByIndex("tags", "t") },
		func() { s.ListKeys(); s.Len(); s.ResourceVersion(); s.GetIndexers() },
		func() { s.ListIndexValues("group"); _, _ = s.Index("tags", obj()) },
		func() { s.Apply([]Op[string, *item]{{Key: "x", Obj: obj()}, {Key: "y", Delete: true}}, "1") },
		func() {
			snap := s.Snapshot()
			n := 0
			for range snap.All() {
				n++
			}
			if n != snap.Len() {
				t.Errorf("%d of %d", n, snap.Len())
			}
		},
		func() {
			switch rand.IntN(40) {
			case 0:
				_ = s.Replace(objs, "2")
			case 1:
				_ = s.AddIndexers(Indexers[*item]{"parity": byParity})
			case 2:
				_ = s.RemoveIndexers("parity")
			case 3:
				var ops []Op[string, *item]
				for k := range s.All() {
					ops = append(ops, Op[string, *item]{Key: k, Delete: true})
				}
				s.Apply(ops[:len(ops)*9/10], "")
			}
		},
	}
	var wg sync.WaitGroup
	for _, act := range actions {
		for range 2 {
			wg.Go(func() {
				for range 400 {
					act()
				}
			})
		}
	}
	wg.Wait()
	checkInvariants(t, s)
}
