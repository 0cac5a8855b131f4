package indexer

import "runtime"

const (
	// giveWayAfter is how many objects are read beside a write until a reader gives way: a list of so many takes some
	// 0.15 ms, a loop over them 0.015.
	giveWayAfter = 1 << 15
	// countFrom is how many objects make a read that counts: to count fewer would cost as much as reading them.
	countFrom = 64
)

// leave ends a visit to n objects.
func (s *Store[K, T]) leave(r *root[K, T], n int) {
	r.release()
	if n >= countFrom && s.writers.Load() > 0 {
		s.giveWay(uint64(n))
	}
}

// giveWay lets other goroutines have the processor, once, if n objects make the next giveWayAfter full that readers have read
// together while a write was under way. Where goroutines that read in a loop use up the processors, a writer that was put off
// its own in the middle of a write, which all who want a new snapshot wait for, gets another one only after the time slices of
// those before it: tens of milliseconds for what is left of a microsecond. (sync.RWMutex goes further: it lets no reader
// in while a writer waits.)
func (s *Store[K, T]) giveWay(n uint64) {
	if read := s.readBeside.Add(n); read/giveWayAfter != (read-n)/giveWayAfter {
		runtime.Gosched()
	}
}
