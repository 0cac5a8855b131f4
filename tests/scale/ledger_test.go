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
	over     time.Time // when the step's fault was over
	// gap is for how long a cell was without work in this step, and after for how long once its fault was over.
	gap, after time.Duration
}

type cell struct {
	version int
	by      visit // the last to arrive
	last    time.Time
	// excused has read the version that a write which was held on its way has replaced. So its own is refused.
	excused visit
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
		at.excused = at.by
	case version != at.version && at.by == v && at.excused == v:
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
	l.noteLocked(c)
	l.cells[c].last = time.Now()
}

func (l *ledger) noteLocked(c int) {
	last, now := l.cells[c].last, time.Now()
	l.gap = max(l.gap, now.Sub(last))
	if last.Before(l.over) {
		last = l.over
	}
	l.after = max(l.after, now.Sub(last))
}

// Start begins to note for how long cells are without work.
func (l *ledger) Start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.cells {
		l.cells[c].last = time.Now()
	}
	l.gap, l.after, l.over = 0, 0, time.Now()
}

// Over says that the fault of the step is over.
func (l *ledger) Over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.cells {
		l.noteLocked(c)
	}
	l.after, l.over = 0, time.Now()
}

// Gaps returns the longest time since Start that a cell was without work, and the longest since Over.
func (l *ledger) Gaps() (gap, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.cells {
		l.noteLocked(c)
	}
	return l.gap, l.after
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
