package lens

import (
	"sync"
	"time"
)

// Bubble lets a program outside of a testing/synctest bubble look at a world inside of it. Make it outside. What
// concerns the world then runs inside, handed in through a channel. A goroutine that waits for that channel keeps
// virtual time from passing: it passes in pieces, when the outside says so. A nil Bubble is none.
type Bubble struct {
	jobs chan func()
	pace chan struct{}
}

// NewBubble returns one that nobody lives in.
func NewBubble() *Bubble { return &Bubble{make(chan func()), make(chan struct{})} }

// piece of virtual time.
const piece = 20 * time.Millisecond

// Live does inside what is handed in, until end is closed. Call it in the bubble; end must be made outside.
func (b *Bubble) Live(end <-chan struct{}) {
	for {
		select {
		case job := <-b.jobs:
			go job()
		case <-b.pace:
			time.Sleep(piece)
		case <-end:
			return
		}
	}
}

// Pass lets virtual time pass as fast as real time, until end is closed. Call it outside.
func (b *Bubble) Pass(end <-chan struct{}) {
	ticker := time.NewTicker(piece)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-end:
			return
		}
		select {
		case b.pace <- struct{}{}:
		case <-end:
			return
		}
	}
}

// inside runs f inside, and returns when it has ended. Call it outside.
func (b *Bubble) inside(f func()) {
	if b == nil {
		f()
		return
	}
	ended := make(chan struct{})
	b.jobs <- func() {
		defer close(ended)
		f()
	}
	<-ended
}

// lock waits for a lock. What is handed in is done meanwhile: time may not pass, so Live may be asleep.
func (b *Bubble) lock(l *sync.Mutex) {
	if b == nil {
		l.Lock()
		return
	}
	for !l.TryLock() {
		select {
		case job := <-b.jobs:
			go job()
		case <-b.pace:
		}
	}
}
