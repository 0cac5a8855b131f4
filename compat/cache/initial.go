package cache

// initialList tracks when the first list was processed. It is protected by its queue's lock, except for done.
type initialList struct {
	done chan struct{}
	// begun is true after the first list or other event.
	begun bool
	// left counts the unprocessed items of those that were queued right after the first list.
	left int
}

func newInitialList() initialList { return initialList{done: make(chan struct{})} }

// eventLocked notes an event other than a list. If it is the first event, there is no initial list to wait for.
func (l *initialList) eventLocked() { l.listLocked(0) }

// listLocked notes a list, and the number of queued items.
func (l *initialList) listLocked(n int) {
	if !l.begun {
		l.begun, l.left = true, n
		l.processedLocked(0)
	}
}

// processedLocked notes that n items were processed, or dropped.
func (l *initialList) processedLocked(n int) {
	l.left = max(0, l.left-n)
	if l.begun && l.left == 0 && !l.isDone() {
		close(l.done)
	}
}

func (l *initialList) isDone() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}
