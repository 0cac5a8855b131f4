package lens

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/internal/apiserver"
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

// refusals are the faults there are, with the requests that the server refuses while they are on.
var refusals = map[string][]apiserver.Failure{
	"cut": {{Verb: "watch"}}, // without an answer
	"token": {
		{Verb: "list", Code: http.StatusUnauthorized}, {Verb: "watch", Code: http.StatusUnauthorized},
		{Resource: "ingresses", Code: http.StatusUnauthorized},
	},
	"fail": {
		{Verb: "create", Resource: "ingresses", Code: http.StatusInternalServerError},
		{Verb: "update", Resource: "ingresses", Code: http.StatusInternalServerError},
		{Verb: "patch", Resource: "ingresses", Code: http.StatusInternalServerError},
		{Verb: "delete", Resource: "ingresses", Code: http.StatusInternalServerError},
	},
	"compact": nil, "expire": nil, // these happen once
	"delay": nil, "drop": nil, "stop": nil, "slow": nil, "panic": nil,
}

// maxMillis keeps a fault from lasting longer than anybody wants to look at it.
const maxMillis = 60_000

// faults are those that are on. Its methods are safe for concurrent use.
type faults struct {
	mu      sync.Mutex // protects what follows
	on      map[string]Fault
	changed chan struct{} // closed, and made anew, at each change: whatever waits because of a fault looks again
}

func newFaults() *faults { return &faults{on: map[string]Fault{}, changed: make(chan struct{})} }

func (f *faults) isOn(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.on[name].On
}

func (f *faults) all() map[string]Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.on)
}

// set switches a fault on or off, and has the server refuse what those that are on then say.
func (f *faults) set(fault Fault, server *apiserver.Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.on, fault.Name)
	if fault.On {
		f.on[fault.Name] = fault
	}
	server.Reset()
	for name := range f.on {
		for _, failure := range refusals[name] {
			server.FailNext(-1, failure)
		}
	}
	f.changedLocked()
}

func (f *faults) changedLocked() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// end ends all faults, and with them whatever waits.
func (f *faults) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.on)
	f.changedLocked()
}

// delayed waits as long as the fault "delay" wants. It returns false if ctx ended before.
func (f *faults) delayed(ctx context.Context) bool {
	return f.wait(ctx.Done(), func(Fault) bool { return true }, "delay")
}

// wait waits as long as a fault wants, if it applies, or until it is changed. It returns false if done is closed
// before.
func (f *faults) wait(done <-chan struct{}, applies func(Fault) bool, name string) bool {
	began := time.Now()
	for {
		f.mu.Lock()
		fault, changed := f.on[name], f.changed
		f.mu.Unlock()
		left := time.Duration(fault.Millis)*time.Millisecond - time.Since(began)
		if !fault.On || left <= 0 || !applies(fault) {
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

// SetFault switches a fault on or off. On again changes its numbers.
func (w *World) SetFault(fault Fault) error {
	_, known := refusals[fault.Name]
	switch {
	case !known:
		return fmt.Errorf("%w: fault %q", errUnknown, fault.Name)
	case fault.Millis < 0 || fault.Millis > maxMillis:
		return fmt.Errorf("%w: want ms in 0 … %d, got %d", errBadBody, maxMillis, fault.Millis)
	case fault.On && fault.Name == "panic" && utilruntime.ReallyCrash:
		return errPanics
	}
	server := w.backend.server.Faults()
	switch fault.Name {
	case "compact", "expire":
		if fault.On && fault.Name == "compact" {
			server.Compact()
		} else if fault.On {
			server.ExpireWatches()
		}
		return nil
	}
	w.backend.faults.set(fault, server)
	if fault.On && (fault.Name == "cut" || fault.Name == "token" || fault.Name == "stop") {
		server.BreakWatches()
	}
	w.hub.Wake()
	return nil
}

// faulty makes a handler slow, or panic, when a fault wants it.
func faulty[T listwatch.Object](next sharedinformer.Handler[T], name string, faults *faults) sharedinformer.Handler[T] {
	before := func() {
		applies := func(f Fault) bool { return f.Handler == "" || f.Handler == name }
		faults.wait(nil, applies, "slow")
		if f := faults.all()["panic"]; f.On && applies(f) {
			panic(errInjected)
		}
	}
	return sharedinformer.HandlerFuncs[T]{
		AddFunc:    func(obj T, initial bool) { before(); next.OnAdd(obj, initial) },
		UpdateFunc: func(was, is T) { before(); next.OnUpdate(was, is) },
		DeleteFunc: func(d sharedinformer.Deletion[T]) { before(); next.OnDelete(d) },
	}
}
