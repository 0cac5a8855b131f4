package deltafifo

import "sync/atomic"

// initialSync knows whether the first list was processed to its last entry. The methods named …Locked are called with
// the queue's lock held.
type initialSync struct {
	// populated: the first list came, or an event came before any list. Later lists change nothing here.
	populated bool
	// remaining is how many more entries must be processed.
	// Invariant: remaining is 0 unless populated; done is closed exactly if populated and remaining is 0.
	remaining int
	done      chan struct{}
	// isDone is done's state, readable without the lock: also by a process function that runs under it.
	isDone atomic.Bool
}

// firstEventLocked notes an Add, Update or Delete: a queue that is given one before any list has nothing to wait for.
func (s *initialSync) firstEventLocked() {
	if !s.populated {
		s.firstListLocked(0)
	}
}

// firstListLocked notes a list, after which queued entries wait. Only the first call counts.
func (s *initialSync) firstListLocked(queued int) {
	if s.populated {
		return
	}
	s.populated = true
	s.remaining = queued
	if queued == 0 {
		s.finishLocked()
	}
}

// processedLocked notes that n more entries were processed.
func (s *initialSync) processedLocked(n int) {
	if s.remaining == 0 {
		return
	}
	s.remaining -= min(n, s.remaining)
	if s.remaining == 0 {
		s.finishLocked()
	}
}

func (s *initialSync) finishLocked() {
	s.isDone.Store(true)
	close(s.done)
}
