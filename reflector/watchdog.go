package reflector

import "time"

// watchdog calls bite, in a goroutine of its own, when it was not fed for its time. Feed and stop are for one goroutine.
type watchdog struct {
	patience time.Duration
	timer    *time.Timer
	bitten   chan struct{} // closed when bite has returned
}

func newWatchdog(patience time.Duration, bite func()) *watchdog {
	w := &watchdog{patience: patience, bitten: make(chan struct{})}
	w.timer = time.AfterFunc(patience, func() {
		defer close(w.bitten)
		bite()
	})
	return w
}

// feed starts the time anew, unless the dog has bitten.
func (w *watchdog) feed() {
	if w.timer.Stop() {
		w.timer.Reset(w.patience)
	}
}

// stop returns when the dog will not bite any more, and is no longer at it. It is called once; nil is fine.
func (w *watchdog) stop() {
	if w != nil && !w.timer.Stop() {
		<-w.bitten
	}
}
