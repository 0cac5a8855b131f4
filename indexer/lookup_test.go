package indexer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// unblocked runs f while somebody holds all stripes, as a large transaction would: f must not wait for one.
func unblocked[K comparable, T any](t *testing.T, s *Store[K, T], f func()) {
	t.Helper()
	for i := range s.stripes {
		s.stripes[i].mu.Lock()
	}
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("it waits for a stripe")
	}
	for i := range s.stripes {
		s.stripes[i].mu.Unlock()
	}
	<-done
}

func stripeOf[K comparable, T any](s *Store[K, T], key K) *sync.Mutex {
	return &s.stripes[s.tagOf(key)>>(32-stripeBits)].mu
}

func TestGetByKey_TakesNoLockOnceNothingHasMovedForSomeTime(t *testing.T) {
	s := filled(t, 10)
	lookup := func() {
		if o, ok := s.GetByKey("1"); !ok || o.key != "1" {
			t.Errorf("%v, %v is under 1", o, ok)
		}
		if _, ok := s.GetByKey("not there"); ok {
			t.Error("it is there")
		}
	}
	moves := []func(){
		func() { require.NoError(t, s.Add(&item{key: "new"})) },
		func() { s.DeleteKey("new") },
		func() { require.NoError(t, s.Replace(s.List(), "2")) },
		func() { s.Apply([]Op[string, *item]{{Key: "2", Obj: &item{key: "2"}}, {Key: "3", Delete: true}}, "3") },
	}
	for _, move := range moves {
		move()
		for range restAfter/2 - countEvery {
			lookup()
		}
		require.Nil(t, s.resting.Load())
		for range 2 * countEvery {
			lookup()
		}
		require.NotNil(t, s.resting.Load())
		unblocked(t, s, lookup)
		checkInvariants(t, s)
	}
}

func TestGetByKey_NorBesideUpdates(t *testing.T) {
	s := filled(t, 1000)
	s.rest()
	places := s.resting.Load()
	for version := 1; version < 5; version++ {
		for i := range 1000 {
			o := &item{key: fmt.Sprint(i), version: version, group: fmt.Sprint("g", i%version)}
			unblocked(t, s, func() {
				_ = s.Update(o)
				if got, _ := s.GetByKey(o.key); got != o {
					t.Errorf("%v is there instead of %v", got, o)
				}
			})
		}
		s.Snapshot()
		var ops []Op[string, *item]
		for i := range 1000 {
			ops = append(ops, Op[string, *item]{Key: fmt.Sprint(i), Obj: &item{key: fmt.Sprint(i), version: version}})
		}
		s.Apply(ops, "")
		unblocked(t, s, func() {
			for _, op := range ops {
				if got, _ := s.GetByKey(op.Key); got != op.Obj {
					t.Errorf("%v is there instead of %v", got, op.Obj)
				}
			}
		})
		checkInvariants(t, s)
	}
	require.Same(t, places, s.resting.Load())
}

// TestGetByKey_LocksWhileMoreThanOneObjectIsWritten, and so does the writer.
func TestGetByKey_LocksWhileMoreThanOneObjectIsWritten(t *testing.T) {
	s := filled(t, 10)
	s.rest()
	s.mu.Lock()
	s.disturbLocked()
	staysBlocked(t, stripeOf(s, "1"), func() { s.GetByKey("1") })
	s.commitLocked()
	for _, key := range []string{"1", "2"} {
		s.rest()
		staysBlocked(t, stripeOf(s, key), func() {
			s.Apply([]Op[string, *item]{{Key: "1", Obj: &item{key: "1"}}, {Key: "2", Obj: &item{key: "2"}}}, "")
		})
	}
	checkInvariants(t, s)
}

// TestDelete_TellsLookupsBeforeAnythingMoves holds a deletion up at the object that fills the gap.
func TestDelete_TellsLookupsBeforeAnythingMoves(t *testing.T) {
	s := filled(t, 10)
	for stripeOf(s, "3") == stripeOf(s, "9") { // it is to get as far as the second
		s = filled(t, 10) // another seed
	}
	s.rest()
	stripeOf(s, "9").Lock()
	sleeps, ended := untilItSleeps(func() { s.DeleteKey("3") })
	require.True(t, sleeps)
	require.EqualValues(t, 1, s.turn.Load()%2, "lookups are not told")
	require.Nil(t, s.resting.Load())
	stripeOf(s, "9").Unlock()
	<-ended
	checkInvariants(t, s)
}

// TestLookup_OvertakenByAWriteIsNotSure begins lookups, and goes on with them after writes of all kinds.
func TestLookup_OvertakenByAWriteIsNotSure(t *testing.T) {
	const n = 3000
	for name, write := range map[string]func(s *Store[string, *item]){
		"another object gets its slot": func(s *Store[string, *item]) { s.DeleteKey("7") },
		"its chunk goes": func(s *Store[string, *item]) {
			for i := range n - 300 {
				s.DeleteKey(fmt.Sprint(n - 1 - i))
			}
		},
		"all are replaced": func(s *Store[string, *item]) { _ = s.Replace(nil, "") },
		"a transaction": func(s *Store[string, *item]) {
			s.Apply([]Op[string, *item]{{Key: "7", Obj: &item{key: "7", version: 1}}, {Key: "8", Obj: &item{key: "8"}}}, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := filled(t, n)
			s.rest()
			turn, p := s.turn.Load(), s.resting.Load()
			write(s)
			for _, key := range []string{"7", fmt.Sprint(n - 1)} {
				_, _, sure := s.lookup(p, turn, key, s.tagOf(key))
				require.False(t, sure)
			}
			_, ok, sure := s.lookup(p, turn, "not there", s.tagOf("not there"))
			require.True(t, sure, "it was not there when the lookup began")
			require.False(t, ok)
		})
	}
}

// TestGetByKey_OfObjectsThatAreNoPointers: they are no words that could be stored while somebody loads them.
func TestGetByKey_OfObjectsThatAreNoPointers(t *testing.T) {
	s := New(Options[string, any]{KeyFunc: func(obj any) (string, error) { return obj.(*item).key, nil }})
	for version := range 3 {
		o := &item{key: "1", version: version}
		require.NoError(t, s.Update(o))
		require.Nil(t, s.resting.Load())
		for range 2 * restAfter {
			got, ok := s.GetByKey("1")
			require.True(t, ok)
			require.Same(t, o, got)
		}
		unblocked(t, s, func() {
			if got, _ := s.GetByKey("1"); got != any(o) {
				t.Errorf("%v is there instead of %v", got, o)
			}
		})
		checkInvariants(t, s)
	}
}

// TestGetByKey_NeverGoesBackInTimeNorAstray among writes of every kind: an object has the key it was asked for, and is no older
// than what was seen under that key before. Locks are taken or not as it happens.
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
				case 0:
					s.rest()
					fallthrough
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

// TestGetByKey_KnowsEveryWriteThatIsOver while lookups go to one snapshot after the other: the writer reads its own writes,
// and others what Len has counted.
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
			s.rest()
			if n := s.Len(); n > 0 {
				stored(n - 1)
			}
		}
	})
	wg.Wait()
	require.Equal(t, 50_000, s.Len())
}

// TestGetByKey_WaitsForNoWriterToTakeASnapshot looks up more often than it takes while a writer is at work elsewhere.
func TestGetByKey_WaitsForNoWriterToTakeASnapshot(t *testing.T) {
	s := filled(t, 10)
	s.mu.Lock()
	for range 2 * restAfter {
		s.GetByKey("1")
	}
	require.Nil(t, s.resting.Load())
	s.mu.Unlock()
}

// TestStore_KeepsAKeyOfItsOwn where keys are made in a buffer that is used again.
func TestStore_KeepsAKeyOfItsOwn(t *testing.T) {
	var buffer []byte
	key := func(i int) string {
		buffer = fmt.Appendf(buffer[:0], "%03d", i)
		return unsafe.String(unsafe.SliceData(buffer), len(buffer))
	}
	clones := 0
	var failed []string
	s := New(Options[string, *item]{
		KeyFunc:  func(o *item) (string, error) { return key(o.version), nil },
		CloneKey: func(key string) string { clones++; return strings.Clone(key) },
		Indexers: Indexers[*item]{"group": byGroup},
		OnError:  func(key string, _ error) { failed = append(failed, key) },
	})
	for range 3 {
		for i := range 500 {
			require.NoError(t, s.Update(&item{version: i, group: "g"}))
		}
	}
	for i := 1; i < 500; i += 2 {
		s.DeleteKey(key(i))
	}
	for i := range 500 {
		o, ok := s.GetByKey(fmt.Sprintf("%03d", i))
		require.Equal(t, i%2 == 0, ok)
		require.True(t, !ok || o.version == i)
	}
	require.Equal(t, 500, clones)
	checkInvariants(t, s)
	require.NoError(t, s.Update(&item{version: 2, group: "bad"}))
	require.NoError(t, s.Update(&item{version: 4, group: "bad"}))
	require.Equal(t, []string{"002", "004"}, failed)
}

func TestStore_WhatEveryCoreWritesLiesInCacheLinesOfItsOwn(t *testing.T) {
	const line = 64
	if unsafe.Sizeof(group{}) != line || unsafe.Sizeof(stripe{}) != line || unsafe.Sizeof(apart{})%line != 0 {
		t.Error("a group, a stripe or all of them are no whole lines")
	}
	for range 100 {
		s := newItems(nil)
		if uintptr(unsafe.Pointer(s.apart))%line != 0 {
			t.Error("the stripes lie across lines")
		}
	}
	var a apart
	if unsafe.Offsetof(a.readBeside)-unsafe.Offsetof(a.lookups) != line || unsafe.Sizeof(a)-unsafe.Offsetof(a.readBeside) != line {
		t.Error("what readers of many objects write shares a line with what others do")
	}
	var s Store[string, *item]
	read := unsafe.Offsetof(s.table) + unsafe.Sizeof(s.table)
	if unsafe.Offsetof(s.size) < read+line || unsafe.Offsetof(s.mu) < read+line {
		t.Error("what writers write may share a line with what lookups read")
	}
}
