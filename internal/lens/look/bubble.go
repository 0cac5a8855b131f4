package look

import "sync"

// Bubble lets a program outside of a testing/synctest bubble look at a world inside of it. Make it outside. What
// concerns the world then runs inside, handed in through a channel. A goroutine that waits for that channel keeps
// virtual time from passing: it passes in pieces, when the outside says so. A nil Bubble is none. tests/lens has the
// goroutines at both ends.
type Bubble struct {
	Jobs chan func()   // to be done inside, each in a goroutine of its own
	Pace chan struct{} // a piece of time may pass
}

// Inside runs f inside, and returns when it has ended. Call it outside.
func (b *Bubble) Inside(f func()) {
	if b == nil {
		f()
		return
	}
	ended := make(chan struct{})
	b.Jobs <- func() {
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
		case job := <-b.Jobs:
			go job()
		case <-b.Pace:
		}
	}
}
