package deltafifo

// initialSync knows whether the first list was processed to its last entry. The methods named …Locked are called with
// the queue's lock held.
type initialSync struct {
	// populated: the first list came, or an event came before any list. Later lists change nothing here.
	populated bool
	// remaining is how many more entries must be processed.
	// Invariant: remaining is 0 unless populated; done is closed exactly if populated and remaining is 0.
	remaining int
	done      chan struct{}
}

func newInitialSync() initialSync { return initialSync{done: make(chan struct{})} }

// isDone needs no lock, so that a process function may call it.
func (s *initialSync) isDone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// firstEventLocked notes an Add, Update or Delete. A queue that gets one before any list has nothing to wait for.
func (s *initialSync) firstEventLocked() { s.firstListLocked(0) }

// firstListLocked notes a list, after which queued entries wait. Only the first call counts.
func (s *initialSync) firstListLocked(queued int) {
	if s.populated {
		return
	}
	s.populated, s.remaining = true, queued
	if queued == 0 {
		close(s.done)
	}
}

// processedLocked notes that n more entries were processed.
func (s *initialSync) processedLocked(n int) {
	if s.remaining == 0 {
		return
	}
	s.remaining -= min(n, s.remaining)
	if s.remaining == 0 {
		close(s.done)
	}
}
