package indexer

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestGetByKey_TakesNoLockOnceNothingHasBeenWrittenForSomeTime locks all stripes, as a writer would, and looks up.
func TestGetByKey_TakesNoLockOnceNothingHasBeenWrittenForSomeTime(t *testing.T) {
	s := filled(t, 10)
	lookup := func() {
		o, ok := s.GetByKey("1")
		require.True(t, ok)
		require.Equal(t, "1", o.key)
	}
	for range 2 {
		require.NoError(t, s.Update(&item{key: "1"}))
		for range restAfter - countEvery {
			lookup()
		}
		require.Nil(t, s.resting.Load())
		for range 2 * countEvery {
			lookup()
		}
		require.NotNil(t, s.resting.Load())
		for i := range s.stripes {
			s.stripes[i].mu.Lock()
		}
		lookup()
		for i := range s.stripes {
			s.stripes[i].mu.Unlock()
		}
		checkInvariants(t, s)
	}
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
	var s Store[string, *item]
	read := unsafe.Offsetof(s.table) + unsafe.Sizeof(s.table)
	if unsafe.Offsetof(s.size) < read+line || unsafe.Offsetof(s.mu) < read+line {
		t.Error("what writers write may share a line with what lookups read")
	}
}
