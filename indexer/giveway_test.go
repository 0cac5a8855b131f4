package indexer

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// reading is a store of 2*countFrom objects, of which one less than countFrom are filed under few, with all ways to read it.
type reading struct {
	s          *Store[string, *item]
	begun, end chan bool // an index function on "slow" sends to begun, and waits for end
	items      []*item
	ways       map[string]read
}

type read struct {
	n uint64 // objects that count
	f func()
}

func newReading(t *testing.T) *reading {
	x := &reading{begun: make(chan bool), end: make(chan bool), items: []*item{{key: "slow"}}}
	x.s = newItems(Indexers[*item]{"count": func(it *item, dst []string) ([]string, error) {
		switch {
		case it.key == "slow":
			x.begun <- true
			<-x.end
			return dst, nil
		case it.key < "b":
			return append(dst, "all", "few"), nil
		}
		return append(dst, "all"), nil
	}})
	const n = 2 * countFrom
	for i := range n {
		x.items = append(x.items, &item{key: fmt.Sprint(string("ab"[min(1, i/(countFrom-1))]), i)})
		require.NoError(t, x.s.Add(x.items[i+1]))
	}
	x.ways = map[string]read{
		"List":      {n, func() { x.s.List() }},
		"ListKeys":  {n, func() { x.s.ListKeys() }},
		"ByIndex":   {n, func() { _, _ = x.s.ByIndex("count", "all") }},
		"IndexKeys": {n, func() { _, _ = x.s.IndexKeys("count", "all") }},
		"Index":     {n, func() { _, _ = x.s.Index("count", x.items[n]) }},
		"few":       {0, func() { _, _ = x.s.ByIndex("count", "few") }},
		"All": {n, func() {
			for range x.s.All() {
			}
		}},
		"All until a break": {countFrom, func() {
			i := 0
			for range x.s.All() {
				if i++; i == countFrom {
					break
				}
			}
		}},
	}
	return x
}

// TestReaders_GiveWayToAWriteThatIsUnderWay has one processor: a goroutine that is ready to run runs before a read returns if
// the read has yielded, and else after it.
func TestReaders_GiveWayToAWriteThatIsUnderWay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	x := newReading(t)
	const rounds = 100
	var visitors atomic.Int64
	// yields tells how often f, which begins with so many objects read, let another goroutine run.
	yields := func(f func(), read uint64) (n int) {
		for range rounds {
			var ran atomic.Bool
			var wg sync.WaitGroup
			x.s.readBeside.Store(read)
			wg.Go(func() {
				ran.Store(true)
				visitors.Add(x.s.published.Load().pin.visitors.Load())
			})
			f()
			if ran.Load() {
				n++
			}
			wg.Wait()
		}
		return n
	}
	const seldom, often = rounds / 4, rounds * 3 / 4 // the scheduler and the collector of garbage have a say, too
	for write, f := range map[string]func(){
		"Add":     func() { _ = x.s.Add(x.items[0]) },
		"Replace": func() { _ = x.s.Replace(x.items, "1") },
	} {
		var wg sync.WaitGroup
		wg.Go(f)
		<-x.begun
		for way, read := range x.ways {
			during := way + " during " + write
			x.s.readBeside.Store(0)
			read.f()
			require.Equal(t, read.n, x.s.readBeside.Load(), during)
			require.Less(t, yields(read.f, giveWayAfter-read.n-1), seldom, "%s, with an object to go", during)
			require.Less(t, yields(read.f, giveWayAfter), seldom, "%s, just after another gave way", during)
			visitors.Store(0)
			if read.n > 0 {
				require.Greater(t, yields(read.f, giveWayAfter-read.n), often, during)
				require.Greater(t, yields(read.f, 2*giveWayAfter-1), often, during)
			}
			require.Less(t, visitors.Load(), int64(seldom), "%s: gave way before it had left", during)
		}
		x.end <- true
		wg.Wait()
		x.s.DeleteKey("slow")
		x.s.readBeside.Store(0)
		for way, read := range x.ways {
			read.f()
			require.Zero(t, x.s.readBeside.Load(), "%s after %s", way, write)
		}
	}
}

// TestWriters_AreNotCountedOnceTheyAreOver also if the write came to nothing, or its failures are still being told.
func TestWriters_AreNotCountedOnceTheyAreOver(t *testing.T) {
	var told []int32 // writers at that moment
	var s *Store[any, *item]
	s = New(Options[any, *item]{
		KeyFunc: func(it *item) (any, error) {
			if it.key == "incomparable" {
				return []int{}, nil
			}
			return it.key, nil
		},
		Indexers: Indexers[*item]{"x": func(it *item, dst []string) ([]string, error) {
			switch it.key {
			case "exit":
				runtime.Goexit()
			case "fail":
				return nil, fmt.Errorf("no")
			}
			return dst, nil
		}},
		OnError: func(any, error) {
			told = append(told, s.writers.Load())
		},
	})
	for _, key := range []string{"exit", "fail", "incomparable"} {
		for _, write := range []func(){
			func() { _ = s.Add(&item{key: key}) },
			func() { _ = s.Replace([]*item{{key: key}}, "1") },
		} {
			var wg sync.WaitGroup
			wg.Go(func() {
				defer func() { _ = recover() }()
				write()
			})
			wg.Wait()
			require.Zero(t, s.writers.Load(), key)
		}
	}
	require.Equal(t, []int32{0, 0}, told)
}
