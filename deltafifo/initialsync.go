package deltafifo

// initialSync tells when all that the first list queued was processed. Its queue's lock protects begun and remaining.
type initialSync struct {
	begun bool // the first list came, or an event before any list; then it stays true
	// remaining counts the entries not yet processed, up to the end of the first list.
	// Invariant: remaining is 0 unless begun; done is closed exactly if begun and remaining is 0.
	remaining int
	done      chan struct{}
}

// eventCame notes an event of a single object. Before any list, there is no list to wait for.
func (s *initialSync) eventCame() { s.listQueued(0) }

// listQueued notes a list. If it is the first, and no event came before, the initial sync ends when as many entries as
// are now queued were processed. Later lists change nothing.
func (s *initialSync) listQueued(queued int) {
	if s.begun {
		return
	}
	s.begun = true
	s.remaining = queued
	if queued == 0 {
		close(s.done)
	}
}

// processed notes that n queued entries were processed.
func (s *initialSync) processed(n int) {
	if s.remaining == 0 {
		return
	}
	s.remaining -= n
	if s.remaining == 0 {
		close(s.done)
	}
}

func (s *initialSync) isDone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}
