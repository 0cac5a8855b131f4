package lens

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

var (
	errInjected = errors.New("a fault was injected")
	errPanics   = errors.New("this program would end: k8s.io/apimachinery/pkg/util/runtime.ReallyCrash is set")
)

// Fault is something that goes wrong until it is undone. PROTOCOL.md lists the names.
type Fault struct {
	Name    string `json:"name"`
	On      bool   `json:"on"`
	Millis  int    `json:"ms,omitempty"`
	Handler string `json:"handler,omitempty"` // "" is all
}

// faultNames are the faults there are.
var faultNames = map[string]bool{
	"cut": true, "compact": true, "delay": true, "drop": true, "expire": true,
	"stop": true, "token": true, "fail": true, "slow": true, "panic": true,
}

// maxMillis keeps a fault from lasting longer than anybody wants to look at it.
const maxMillis = 60_000

// faults are those that are on. Its methods are safe for concurrent use.
type faults struct {
	mu       sync.Mutex // protects what follows
	on       map[string]Fault
	changed  chan struct{} // closed, and made anew, at each change: whatever waits because of a fault looks again
	tokens   int           // how many tokens have expired
	token    int           // the one that the clients have
	disabled bool          // the world ends
}

func newFaults() *faults { return &faults{on: map[string]Fault{}, changed: make(chan struct{})} }

func (f *faults) isOn(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.on[name].On && !f.disabled
}

func (f *faults) all() map[string]Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.on)
}

// set switches a fault on or off.
func (f *faults) set(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.on, fault.Name)
	if fault.On {
		f.on[fault.Name] = fault
	}
	switch {
	case fault.Name == "token" && fault.On:
		f.tokens++
	case fault.Name == "token":
		f.token = f.tokens
	}
	f.changedLocked()
}

func (f *faults) changedLocked() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// disable ends all faults for good.
func (f *faults) disable() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disabled = true
	f.changedLocked()
}

// bearer is what the clients send, knows what the server thinks of it.
func (f *faults) bearer() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("Bearer pipeline-%d", f.token)
}

func (f *faults) knows(authorization string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return authorization == fmt.Sprintf("Bearer pipeline-%d", f.tokens)
}

// delayed waits as long as the fault "delay" wants. It returns false if ctx ended before.
func (f *faults) delayed(ctx context.Context) bool {
	return f.wait(ctx.Done(), func(Fault) bool { return true }, "delay")
}

// wait waits as long as a fault wants, if it applies, or until it is changed. It returns false if done is closed before.
func (f *faults) wait(done <-chan struct{}, applies func(Fault) bool, name string) bool {
	began := time.Now()
	for {
		f.mu.Lock()
		fault, changed, disabled := f.on[name], f.changed, f.disabled
		f.mu.Unlock()
		left := time.Duration(fault.Millis)*time.Millisecond - time.Since(began)
		if !fault.On || left <= 0 || disabled || !applies(fault) {
			return true
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-changed:
		case <-done:
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}

// SetFault switches a fault on or off. Off and on again is a change of its numbers.
func (w *World) SetFault(fault Fault) error {
	switch {
	case !faultNames[fault.Name]:
		return fmt.Errorf("%w: fault %q", errUnknown, fault.Name)
	case fault.Millis < 0 || fault.Millis > maxMillis:
		return fmt.Errorf("%w: want ms in 0 … %d, got %d", errBadBody, maxMillis, fault.Millis)
	case fault.On && fault.Name == "panic" && utilruntime.ReallyCrash:
		return errPanics
	}
	w.backend.faults.set(fault)
	server := w.backend.server.Faults()
	switch {
	case fault.Name == "stop" && fault.On:
		w.backend.shutDown()
	case fault.Name == "stop":
		w.backend.start()
	case !fault.On:
	case fault.Name == "cut", fault.Name == "token":
		server.BreakWatches()
	case fault.Name == "compact":
		server.Compact()
	case fault.Name == "expire":
		server.ExpireWatches()
	}
	w.hub.Wake()
	return nil
}

// faultyHandler is a handler that is slow, or panics, when a fault wants it.
type faultyHandler[T listwatch.Object] struct {
	next   sharedinformer.Handler[T]
	name   string
	faults *faults
}

func (h faultyHandler[T]) before() {
	applies := func(f Fault) bool { return f.Handler == "" || f.Handler == h.name }
	h.faults.wait(nil, applies, "slow")
	if f := h.faults.all()["panic"]; f.On && applies(f) {
		panic(errInjected)
	}
}

func (h faultyHandler[T]) OnAdd(obj T, initial bool) {
	h.before()
	h.next.OnAdd(obj, initial)
}

func (h faultyHandler[T]) OnUpdate(before, after T) {
	h.before()
	h.next.OnUpdate(before, after)
}

func (h faultyHandler[T]) OnDelete(d sharedinformer.Deletion[T]) {
	h.before()
	h.next.OnDelete(d)
}
