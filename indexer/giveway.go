package indexer

import "runtime"

const (
	// giveWayAfter is how many objects are read beside a write until a reader gives way: to copy so many takes some 0.15 ms.
	giveWayAfter = 1 << 15
	// countFrom is how many objects make a read that counts: a chunk's, so that two atomic additions are little beside them.
	countFrom = chunkLen
)

// read begins a read of n objects from a visited root by List, ListKeys, ByIndex or IndexKeys, and leave ends it. A loop over All is
// none: nobody knows what its body does meanwhile.
func (s *Store[K, T]) read(n int) {
	if n >= countFrom {
		s.reading.Add(1)
	}
}

func (s *Store[K, T]) leave(r *root[K, T], n int) {
	r.release()
	if n < countFrom {
		return
	}
	if s.writers.Load() > 0 {
		s.giveWay(uint64(n))
	}
	s.reading.Add(-1)
}

// giveWay lets other goroutines have the processor, once, if n objects make the next giveWayAfter full that readers have read
// together while a write was under way, and if the readers are a crowd. They use up the processors then, and a writer that was
// put off its own in the middle of a write, which all who want a new snapshot wait for, gets another one only after the time
// slices of those before it: tens of milliseconds for what is left of a microsecond. (sync.RWMutex goes further: it lets
// no reader in while a writer waits.)
func (s *Store[K, T]) giveWay(n uint64) {
	if read := s.readBeside.Add(n); read/giveWayAfter != (read-n)/giveWayAfter && s.crowded() {
		runtime.Gosched()
	}
}

// crowded: there are more readers than processors. Fewer leave time slices to a writer, or if they do not use up the processors
// themselves, others do, who would have what a reader gives away.
func (s *Store[K, T]) crowded() bool { return int(s.reading.Load()) > runtime.GOMAXPROCS(0) }
