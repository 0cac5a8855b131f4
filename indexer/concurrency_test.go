package indexer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// TestApply_IsSeenWholeByReadersInAnyOrder writes the same version to two keys of different stripes in one transaction.
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
		func() []int { s.rest(); o, _ := s.GetByKey(keys[rand.IntN(len(keys))]); return []int{o.version} },
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

// TestApply_KeepsWhatItWroteToItselfUntilAllIsWritten holds a transaction up before its second key, by holding that key's
// stripe as a GetByKey would.
func TestApply_KeepsWhatItWroteToItselfUntilAllIsWritten(t *testing.T) {
	s := newItems(nil)
	first, second := "a", "b"
	for i := 0; stripeOf(s, first) == stripeOf(s, second); i++ {
		second = fmt.Sprint("b", i)
	}
	stripeOf(s, second).Lock()
	sleeps, ended := untilItSleeps(func() {
		s.Apply([]Op[string, *item]{{Key: first, Obj: &item{key: first}}, {Key: second, Obj: &item{key: second}}}, "")
	})
	require.True(t, sleeps, "it does not wait for its second key")
	require.False(t, stripeOf(s, first).TryLock(), "its first key is free before the second is written")
	require.Zero(t, s.Len(), "Len knows of an unfinished transaction")
	stripeOf(s, second).Unlock()
	<-ended
	_, ok := s.GetByKey(second)
	require.True(t, ok)
}

// TestSnapshot_PublishedOnceBelongsToOneMoment also sees that pins go when their readers have left.
func TestSnapshot_PublishedOnceBelongsToOneMoment(t *testing.T) {
	s := filled(t, 10)
	a := s.acquire(visitor)
	b := s.acquire(visitor)
	require.Same(t, a, b, "without a write there is one snapshot for all")
	require.EqualValues(t, 2, a.pin.visitors.Load())
	require.NoError(t, s.Add(&item{key: "x"}))
	require.Nil(t, s.published.Load())
	c := s.acquire(visitor)
	require.NotSame(t, a, c)
	for _, r := range []*root[string, *item]{a, b, c} {
		r.release()
	}
	require.NoError(t, s.Add(&item{key: "y"}))
	require.Empty(t, s.pins)
	require.Zero(t, s.clock.barrier)
}

// TestSnapshot_AReaderThatComesTooLateIsTurnedAway lets a write begin after a reader found the published snapshot and
// before it is counted: the writer did not see it and may write in place.
func TestSnapshot_AReaderThatComesTooLateIsTurnedAway(t *testing.T) {
	s := filled(t, 10)
	s.acquire(visitor).release()
	found := s.published.Load()
	require.NoError(t, s.Add(&item{key: "x"}))
	require.False(t, s.enter(found, visitor))
	require.Zero(t, found.pin.visitors.Load())
	s.acquire(visitor).release()
	require.True(t, s.enter(s.published.Load(), visitor))
}

// untilItSleeps runs f in a goroutine, and returns when that has ended or sleeps in a mutex. It panics if it does neither in a minute.
func untilItSleeps(f func()) (sleeps bool, ended <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	stacks := make([]byte, 1<<20)
	for began := time.Now(); ; {
		select {
		case <-done:
			return false, done
		default:
			runtime.Gosched()
		}
		for g := range bytes.SplitSeq(stacks[:runtime.Stack(stacks, true)], []byte("\n\n")) {
			state, frames, _ := bytes.Cut(g, []byte("\n"))
			if bytes.Contains(state, []byte("[sync.Mutex.Lock")) && bytes.Contains(frames, []byte(".untilItSleeps.func1(")) {
				return true, done
			}
		}
		if time.Since(began) > time.Minute {
			panic("it neither ends nor sleeps")
		}
	}
}

// staysBlocked starts f, expects that it cannot end while the stripe is locked, and lets it end.
func staysBlocked(t *testing.T, st *sync.Mutex, f func()) {
	t.Helper()
	st.Lock()
	sleeps, ended := untilItSleeps(f)
	if !sleeps {
		t.Error("it did not wait for a reader of that stripe")
	}
	st.Unlock()
	<-ended
}

func TestReplace_KeepsOutReadersOfEveryKey(t *testing.T) {
	s := filled(t, 10)
	for i := range s.stripes {
		staysBlocked(t, &s.stripes[i].mu, func() { _ = s.Replace(nil, "1") })
	}
}

func TestDelete_KeepsOutReadersOfTheObjectThatFillsTheGap(t *testing.T) {
	for i := range 10 {
		s := newItems(nil)
		require.NoError(t, s.Add(&item{key: "gone"}))
		last := fmt.Sprint("last", i)
		require.NoError(t, s.Add(&item{key: last}))
		staysBlocked(t, &s.stripes[s.tagOf(last)>>(32-stripeBits)].mu, func() { s.DeleteKey("gone") })
		_, ok := s.GetByKey(last)
		require.True(t, ok)
	}
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
				if last%2 == 0 {
					s.rest()
				}
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
		func() { s.rest(); s.GetByKey(key()) },
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
