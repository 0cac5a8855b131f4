package scale

import (
	"fmt"
	"sync"
	"time"
)

// ledger is the server's side of the work: a cell is an object that one reconcile reads, touches for a while and then
// writes. It judges by the requests that reach it, and by nothing else.
type ledger struct {
	start time.Time
	tally *tally

	mu       sync.Mutex // guards the rest
	cells    []cell
	problems []string
	watched  bool          // cells without work are noted
	longest  time.Duration // that a cell was without work while watched
}

type cell struct {
	version int
	by      visit // the last to arrive
	last    time.Time
	// disturbed: a write that was held on its way has come in between, so that the next conflict is nobody's fault.
	disturbed bool
}

// visit is one reconcile of one process.
type visit struct {
	process string
	number  int
}

func newLedger(cells int, t *tally) *ledger {
	return &ledger{start: time.Now(), tally: t, cells: make([]cell, cells)}
}

func (l *ledger) complain(format string, args ...any) {
	if len(l.problems) < 5 {
		l.problems = append(l.problems, fmt.Sprintf("at %v: ", time.Since(l.start))+fmt.Sprintf(format, args...))
	}
}

// Begin is a reconcile's first request. It returns the cell's version.
func (l *ledger) Begin(c int, v visit) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrivedLocked(c)
	l.cells[c].by = v
	return l.cells[c].version
}

// Touch is a request in the middle of a reconcile. Nobody else's may have arrived since it began.
func (l *ledger) Touch(c int, v visit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrivedLocked(c)
	if at := &l.cells[c]; at.by != v {
		l.complain("%s reconciles cell %d, and %s works on it", v.process, c, at.by.process)
	}
}

// Put is a reconcile's last request. It is refused if somebody has written since the version was read. Only for a
// request that was late on its way may that happen.
func (l *ledger) Put(c int, v visit, version int, late bool) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := &l.cells[c]
	switch {
	case late && version != at.version:
		l.tally.fire(lateRefused)
		return false
	case late:
		at.disturbed = true
	case version != at.version && at.disturbed:
		at.disturbed = false
		return false
	case version != at.version || at.by != v:
		l.complain("%s writes cell %d, on which %s works", v.process, c, at.by.process)
	}
	if !late {
		l.arrivedLocked(c)
	}
	if version != at.version {
		return false
	}
	at.version++
	return true
}

func (l *ledger) arrivedLocked(c int) {
	now := time.Now()
	if at := &l.cells[c]; l.watched {
		l.longest = max(l.longest, now.Sub(at.last))
	}
	l.cells[c].last = now
}

// Watch begins to note, from now on, for how long cells are without work, or ends it and returns the longest time.
func (l *ledger) Watch(on bool) (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for c := range l.cells {
		if l.watched {
			l.longest = max(l.longest, now.Sub(l.cells[c].last))
		}
		l.cells[c].last = now
	}
	longest, l.longest, l.watched = l.longest, 0, on
	return longest
}

// Idle returns a cell on which nobody worked for so long, or -1.
func (l *ledger) Idle(d time.Duration) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.cells {
		if time.Since(l.cells[c].last) > d {
			return c
		}
	}
	return -1
}

func (l *ledger) Problems() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.problems
}
