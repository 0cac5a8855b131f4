package sharedinformer

import (
	"slices"
	"sync"

	"glasswatch/internal/shrink"
)

// backlog is what waits for one handler. The consumer adds to it. The handler's goroutine takes from it, makes the calls,
// and counts each one off.
//
//	add ──▶ waiting ──take──▶ taken ──▶ told
//
// The goroutine takes all that waits and leaves an empty slice in its place. So it makes its calls with no lock held, and
// the consumer goes on adding. A handler that folds has foldedChanges instead of waiting. It takes one change at a time,
// because what waits can still be folded.
//
// After drain or drop nothing more is added. What waits is taken after drain, but not after drop.
type backlog[T object] struct {
	bound   int           // the most changes that may wait, besides initial adds; 0 is no bound
	dropped chan struct{} // closed by drop
	synced  chan struct{} // closed once the handler has been told of the whole initial list

	mu           sync.Mutex // protects what follows; never held while the handler is called
	wake         sync.Cond  // something waits, or nothing more comes
	waiting      []notification[T]
	folded       *foldedChanges[T] // nil unless the handler folds
	mostWaiting  int               // since the memory was made
	taken        []notification[T]
	callsLeft    int   // calls of taken that have not ended
	nothingComes bool  // drained or dropped
	reason       error // why it was dropped; nil if somebody asked for it

	// initialLeft counts the initial adds that were added, and neither told nor folded away.
	// Invariant: never negative; synced is closed only at zero.
	initialLeft      int
	initialListAdded bool // every add of the initial list was added

	folds, calls uint64 // for Stats
}

func newBacklog[T object](opts HandlerOptions) *backlog[T] {
	b := &backlog[T]{bound: opts.MaxBacklog, dropped: make(chan struct{}), synced: make(chan struct{})}
	b.wake.L = &b.mu
	if opts.Fold {
		b.folded = newFoldedChanges[T]()
	}
	return b
}

// add adds those notifications whose cause is wanted. It reports whether the handler keeps up: false is past the bound.
// It never waits for the handler.
func (b *backlog[T]) add(notes []notification[T], wants func(cause) bool) (keepsUp bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.nothingComes {
		return true
	}
	for j := range notes {
		n := &notes[j]
		switch {
		case !wants(n.cause):
		case b.folded != nil:
			b.foldLocked(n)
		default:
			b.waiting = slices.Grow(b.waiting, len(notes)-j) // once for all: a first list is long, and handlers are many
			b.waiting = append(b.waiting, *n)
			if n.initial {
				b.initialLeft++
			}
		}
	}
	b.mostWaiting = max(b.mostWaiting, b.waitingLocked(), cap(b.waiting)) // there is room for what nobody wanted, too
	b.wake.Signal()
	return b.bound <= 0 || b.depthLocked()-b.initialLeft <= b.bound
}

// foldLocked folds a notification into what waits. An initial add that is folded away counts as told.
func (b *backlog[T]) foldLocked(n *notification[T]) {
	initialBefore := b.folded.initial
	merged := b.folded.add(n)
	b.initialLeft += b.folded.initial - initialBefore
	if merged {
		b.folds++
	}
	b.closeIfSyncedLocked()
}

// waitingLocked is how many changes wait to be taken.
func (b *backlog[T]) waitingLocked() int {
	if b.folded != nil {
		return len(b.folded.byKey)
	}
	return len(b.waiting)
}

// depthLocked counts what was taken, too.
func (b *backlog[T]) depthLocked() int { return b.waitingLocked() + b.callsLeft }

// take blocks until something waits, and takes it. It returns nothing once the backlog is dropped, or drained and empty.
// The slice is valid until the next call.
func (b *backlog[T]) take() []notification[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.waitingLocked() == 0 && !b.nothingComes {
		b.releaseMemoryLocked()
		b.wake.Wait()
	}
	if b.waitingLocked() == 0 {
		return nil
	}
	if b.folded != nil {
		b.taken = b.folded.removeFirst(b.taken[:0])
	} else {
		b.waiting, b.taken = b.taken[:0], b.waiting
	}
	b.callsLeft = len(b.taken)
	return b.taken
}

// releaseMemoryLocked gives up what a burst has left. Nothing waits, and every call has ended.
func (b *backlog[T]) releaseMemoryLocked() {
	if !shrink.IsDue(b.mostWaiting, 0) {
		return
	}
	b.waiting = nil
	b.taken = nil
	b.mostWaiting = 0
	if b.folded != nil {
		b.folded = newFoldedChanges[T]()
	}
}

// told counts off a call that has ended. It zeroes the notification: the backlog keeps no object alive.
func (b *backlog[T]) told(n *notification[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	b.callsLeft--
	if n.initial {
		b.initialLeft--
		b.closeIfSyncedLocked()
	}
	*n = notification[T]{}
}

// endInitialList says that every add of the initial list was added. A handler that was drained or dropped before that was
// not given all of them. So it never syncs.
func (b *backlog[T]) endInitialList() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.nothingComes {
		return
	}
	b.initialListAdded = true
	b.closeIfSyncedLocked()
}

func (b *backlog[T]) closeIfSyncedLocked() {
	if b.initialListAdded && b.initialLeft == 0 && !isClosed(b.synced) {
		close(b.synced)
	}
}

// drain lets what waits be taken, and nothing more comes.
func (b *backlog[T]) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nothingComes = true
	b.wake.Signal()
}

// drop forgets what waits, and nothing more comes. Only the first reason counts.
func (b *backlog[T]) drop(reason error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if isClosed(b.dropped) {
		return
	}
	close(b.dropped)
	b.reason = reason
	b.nothingComes = true
	b.waiting = nil
	b.folded = nil
	b.wake.Signal()
}

// dropTaken forgets what was taken, too. The handler is not called any more.
func (b *backlog[T]) dropTaken() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = nil
	b.callsLeft = 0
}

// dropReason returns why it was dropped, nil if it was not, or if somebody asked for it.
func (b *backlog[T]) dropReason() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reason
}

// stats returns the counters of this moment, without the handler's name.
func (b *backlog[T]) stats() HandlerStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return HandlerStats{Depth: b.depthLocked(), Folds: b.folds, Delivered: b.calls, Synced: isClosed(b.synced)}
}
