package cache

// initialList knows when the first list was processed. It is protected by its queue's lock, except for done.
type initialList struct {
	done chan struct{}
	// begun: a list, or anything else, has come.
	begun bool
	// left is how much of what was queued right after the first list was not processed.
	left int
}

func newInitialList() initialList { return initialList{done: make(chan struct{})} }

// eventLocked says that something other than a list has come: if it is the first, there is no initial list to wait for.
func (l *initialList) eventLocked() { l.listLocked(0) }

// listLocked says that a list has come, and how much is queued.
func (l *initialList) listLocked(n int) {
	if !l.begun {
		l.begun, l.left = true, n
		l.processedLocked(0)
	}
}

// processedLocked says that n were processed, or dropped.
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
