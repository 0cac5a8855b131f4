package indexer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAddIndexers_WhileWritersWrite adds and removes an index in a loop. Whenever it is there, it is complete.
func TestAddIndexers_WhileWritersWrite(t *testing.T) {
	s := newItems(Indexers[*item]{"group": byGroup})
	const n = 600
	var objs []*item
	for i := range n {
		objs = append(objs, &item{key: fmt.Sprint(i), group: "g"})
	}
	require.NoError(t, s.Replace(objs, ""))
	var wg sync.WaitGroup
	var done atomic.Bool
	wg.Go(func() {
		for !done.Load() {
			if err := s.RemoveIndexers("parity"); err == nil {
				continue
			}
			if err := s.AddIndexers(Indexers[*item]{"parity": byParity}); err != nil {
				t.Errorf("AddIndexers: %v", err)
			}
			snap := s.Snapshot()
			even, _ := snap.ByIndex("parity", "even")
			odd, _ := snap.ByIndex("parity", "odd")
			count := 0
			for _, want := range []struct {
				seq    func(func(string, *item) bool)
				parity int
			}{{even, 0}, {odd, 1}} {
				for _, o := range want.seq {
					count++
					if o.version%2 != want.parity {
						t.Errorf("version %d is in the wrong place", o.version)
					}
				}
			}
			if count != snap.Len() {
				t.Errorf("the index has %d of %d objects", count, snap.Len())
			}
		}
	})
	write(&wg, &done, 20000, func(i int) {
		key := fmt.Sprint(rand.IntN(n))
		switch rand.IntN(10) {
		case 0:
			s.DeleteKey(key)
		default:
			_ = s.Add(&item{key: key, version: i, group: "g"})
		}
		if i%5000 == 4999 {
			_ = s.Replace(objs, "")
		}
	})
	wg.Wait()
	checkInvariants(t, s)
}

// TestAddIndexers_BetweenAWritersIndexFunctionAndItsLock holds a writer in its index function while an index comes.
func TestAddIndexers_BetweenAWritersIndexFunctionAndItsLock(t *testing.T) {
	entered, goOn := make(chan struct{}, 10), make(chan struct{})
	s := newItems(Indexers[*item]{"slow": func(o *item, dst []string) ([]string, error) {
		entered <- struct{}{}
		<-goOn
		return append(dst, o.group), nil
	}})
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Add(&item{key: "a", version: 1, group: "g"}) })
	<-entered
	wg.Go(func() { _ = s.AddIndexers(Indexers[*item]{"parity": byParity}) })
	require.Zero(t, s.Len(), "a reader goes on")
	close(goOn)
	wg.Wait()
	for name, value := range map[string]string{"parity": "odd", "slow": "g"} {
		keys, err := s.IndexKeys(name, value)
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, keys, name)
	}
	checkInvariants(t, s)
}

// TestAddIndexers_LetsReadersGoOnWhileItFills holds AddIndexers in its function. A writer that comes meanwhile waits.
func TestAddIndexers_LetsReadersGoOnWhileItFills(t *testing.T) {
	s := newItems(nil)
	require.NoError(t, s.Add(&item{key: "old", version: 1}))
	entered, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.AddIndexers(Indexers[*item]{"parity": func(o *item, dst []string) ([]string, error) {
			if o.key == "old" {
				close(entered)
				<-goOn
			}
			return byParity(o, dst)
		}})
	})
	<-entered
	wg.Go(func() { _ = s.Add(&item{key: "new", version: 3}) })
	require.Len(t, s.List(), 1)
	_, err := s.ByIndex("parity", "odd")
	require.Error(t, err, "an index that is not complete cannot be asked")
	_, err = s.Snapshot().ByIndex("parity", "odd")
	require.Error(t, err, "nor in a snapshot")
	require.Empty(t, s.GetIndexers())
	close(goOn)
	wg.Wait()
	odd, err := s.IndexKeys("parity", "odd")
	require.NoError(t, err)
	require.Len(t, odd, 2)
	checkInvariants(t, s)
}

// TestAddIndexers_APanicOfOnErrorLeavesTheIndexComplete also shows that OnError may ask the index.
func TestAddIndexers_APanicOfOnErrorLeavesTheIndexComplete(t *testing.T) {
	var s *Store[string, *item]
	var seen []string
	s = New(Options[string, *item]{KeyFunc: itemKey, Compare: strings.Compare, OnError: func(string, error) {
		seen, _ = s.IndexKeys("group", "g")
		panic("a bug in OnError")
	}})
	for _, key := range []string{"a", "bad", "c"} {
		require.NoError(t, s.Add(&item{key: key, group: "g"}))
	}
	require.PanicsWithValue(t, "a bug in OnError", func() {
		_ = s.AddIndexers(Indexers[*item]{"group": func(o *item, dst []string) ([]string, error) {
			if o.key == "bad" {
				return nil, errors.New("bad")
			}
			return append(dst, o.group), nil
		}})
	})
	require.Equal(t, []string{"a", "c"}, seen)
	keys, err := s.IndexKeys("group", "g")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c"}, keys)
	require.NoError(t, s.RemoveIndexers("group"))
	checkInvariants(t, s)
}
