package indexer

import (
	"fmt"
	"runtime"
	"strings"
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
		"few":       {0, func() { _, _ = x.s.ByIndex("count", "few") }},
		"Index":     {0, func() { _, _ = x.s.Index("count", x.items[n]) }},
		"All": {0, func() {
			for range x.s.All() {
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
	const seldom, often = rounds / 4, rounds * 3 / 4 // the scheduler and the collector of garbage have a say, too
	// yields tells how often the read, which begins with so many objects read, beside so many readers, lets another goroutine run.
	yields := func(read read, objects uint64, readers int32) (n int) {
		wrong := 0
		for range rounds {
			var over, ran, counts, shares atomic.Bool
			var wg sync.WaitGroup
			x.s.readBeside.Store(objects)
			x.s.reading.Store(readers)
			wg.Go(func() {
				ran.Store(!over.Load())
				counts.Store(x.s.reading.Load() > readers)
				shares.Store(x.s.published.Load().pin.visitors.Load() > 0)
			})
			read.f()
			over.Store(true)
			wg.Wait()
			require.Equal(t, readers, x.s.reading.Load())
			if ran.Load() {
				n++
				if !counts.Load() || shares.Load() {
					wrong++
				}
			}
		}
		if n > often {
			require.Less(t, wrong, seldom, "who gives way still counts as a reader, but shares no chunk any more")
		}
		return n
	}
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
			require.Less(t, yields(read, giveWayAfter-read.n-1, 1), seldom, "%s, with an object to go", during)
			require.Less(t, yields(read, giveWayAfter, 1), seldom, "%s, just after another gave way", during)
			require.Less(t, yields(read, giveWayAfter-read.n, 0), seldom, "%s, alone", during)
			if read.n > 0 {
				require.Greater(t, yields(read, giveWayAfter-read.n, 1), often, during)
				require.Greater(t, yields(read, 2*giveWayAfter-1, 1), often, during)
			}
			x.s.reading.Store(0)
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

func TestReaders_AreACrowdIfThereAreMoreThanProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	s := newItems(nil)
	for readers, crowd := range []bool{false, false, false, true} {
		s.reading.Store(int32(readers))
		require.Equal(t, crowd, s.crowded(), readers)
	}
}

// TestReaders_AreCountedWhileTheyRead looks at the count where a read calls its user: in the order of keys.
func TestReaders_AreCountedWhileTheyRead(t *testing.T) {
	var s *Store[string, *item]
	var seen int32
	s = New(Options[string, *item]{
		KeyFunc: func(it *item) (string, error) { return it.key, nil },
		Compare: func(a, b string) int {
			if seen = s.reading.Load(); seen == 2 {
				panic("a reader that does not come to its end")
			}
			return strings.Compare(a, b)
		},
		Indexers: Indexers[*item]{"all": func(_ *item, dst []string) ([]string, error) { return append(dst, "all"), nil }},
	})
	for i := range countFrom {
		require.NoError(t, s.Add(&item{key: fmt.Sprint(i)}))
	}
	for name, list := range map[string]func(){
		"ListKeys":  func() { s.ListKeys() },
		"IndexKeys": func() { _, _ = s.IndexKeys("all", "all") },
	} {
		list()
		require.EqualValues(t, 1, seen, name)
		require.Zero(t, s.reading.Load(), name)
		s.reading.Store(1)
		require.Panics(t, list, name)
		require.EqualValues(t, 1, s.reading.Load(), name)
		s.reading.Store(0)
	}
	s.DeleteKey("1")
	s.ListKeys()
	require.Zero(t, seen, "one too few to count")
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
