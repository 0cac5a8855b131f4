package lens

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/lens/look"
)

var (
	errInjected = errors.New("a fault was injected")
	errPanics   = errors.New("this program would end: k8s.io/apimachinery/pkg/util/runtime.ReallyCrash is set")
)

// faultKinds has the faults that there are.
var faultKinds = map[string]struct {
	refused []apiserver.Failure     // requests that the server refuses meanwhile
	start   func(*apiserver.Faults) // what happens when the fault begins
	once    bool                    // and that is all of it
}{
	"cut":     {refused: []apiserver.Failure{{Verb: "watch"}}, start: breakWatches}, // without an answer
	"break":   {start: breakWatches, once: true},                                    // new ones work at once
	"compact": {start: (*apiserver.Faults).Compact, once: true},
	"expire":  {start: func(f *apiserver.Faults) { f.ExpireWatches() }, once: true},
	"stop":    {start: breakWatches},
	"token": {start: breakWatches, refused: []apiserver.Failure{
		{Verb: "list", Code: 401}, {Verb: "watch", Code: 401}, {Resource: "ingresses", Code: 401},
	}},
	"fail": {refused: []apiserver.Failure{
		{Verb: "create", Resource: "ingresses", Code: 500}, {Verb: "update", Resource: "ingresses", Code: 500},
		{Verb: "patch", Resource: "ingresses", Code: 500}, {Verb: "delete", Resource: "ingresses", Code: 500},
	}},
	"delay": {}, "drop": {}, "slow": {}, "panic": {},
}

// refusing are the faults that refuse requests, in the order in which a request meets them: the network,
// authentication, then the server. If several are on, the first decides, each time.
var refusing = []string{"cut", "token", "fail"}

func breakWatches(f *apiserver.Faults) { f.BreakWatches() }

// maxMillis keeps a fault from lasting longer than anybody wants to look at it.
const maxMillis = 600_000

// faults are those that are on. Its methods are safe for concurrent use.
type faults struct {
	mu      sync.Mutex // protects what follows
	on      map[string]look.Fault
	changed chan struct{} // closed, and made anew, when one is switched on or off
}

func newFaults() *faults { return &faults{on: map[string]look.Fault{}, changed: make(chan struct{})} }

func (f *faults) isOn(name string) bool { return f.get(name).On }

func (f *faults) get(name string) look.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.on[name]
}

func (f *faults) all() map[string]look.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.on)
}

// set switches a fault on or off. Whatever waits because of it goes on.
func (f *faults) set(fault look.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.on, fault.Name)
	if fault.On {
		f.on[fault.Name] = fault
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// wait waits as long as a fault wants, if it is for this handler. It returns false if ctx ended before.
func (f *faults) wait(ctx context.Context, name, handler string) bool {
	for began := time.Now(); ctx.Err() == nil; {
		f.mu.Lock()
		fault, changed := f.on[name], f.changed
		f.mu.Unlock()
		left := time.Duration(fault.Millis)*time.Millisecond - time.Since(began)
		if !isFor(fault, handler) || left <= 0 {
			return true
		}
		look.Pause(ctx, left, changed)
	}
	return false
}

func isFor(f look.Fault, handler string) bool {
	return f.On && (f.Handler == "" || f.Handler == handler)
}

// setFault switches a fault on or off. On again changes its numbers.
func (w *World) setFault(_ context.Context, fault look.Fault) (any, error) {
	kind, known := faultKinds[fault.Name]
	switch {
	case !known:
		return nil, fmt.Errorf("%w: fault %q", look.ErrUnknown, fault.Name)
	case fault.Millis < 0 || fault.Millis > maxMillis:
		return nil, fmt.Errorf("%w: want ms in 0 … %d, got %d", look.ErrBadBody, maxMillis, fault.Millis)
	case fault.On && fault.Name == "panic" && utilruntime.ReallyCrash:
		return nil, errPanics
	}
	server := w.server.Faults()
	if !kind.once {
		w.faults.set(fault)
		server.Reset()
		for _, name := range refusing {
			if w.faults.isOn(name) {
				for _, failure := range faultKinds[name].refused {
					server.FailNext(-1, failure)
				}
			}
		}
	}
	if fault.On && kind.start != nil {
		kind.start(server)
	}
	w.hub.Wake()
	return nil, nil
}

// strike is slow, or panics, when a fault wants that of a handler.
func (f *faults) strike(handler string) {
	f.wait(context.Background(), "slow", handler)
	if isFor(f.get("panic"), handler) {
		panic(errInjected)
	}
}
