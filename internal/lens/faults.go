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
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
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
const maxMillis = 60_000

// faults are those that are on. Its methods are safe for concurrent use.
type faults struct {
	mu     sync.Mutex // protects what follows
	on     map[string]look.Fault
	undone map[string]chan struct{} // closed when the fault of that name is changed
}

func newFaults() *faults {
	return &faults{on: map[string]look.Fault{}, undone: map[string]chan struct{}{}}
}

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
	if f.on[fault.Name].On {
		close(f.undone[fault.Name])
	}
	delete(f.on, fault.Name)
	if fault.On {
		f.on[fault.Name], f.undone[fault.Name] = fault, make(chan struct{})
	}
}

// wait waits as long as a fault wants, if it is for this handler, or until it is changed. It returns false if ctx ended
// before.
func (f *faults) wait(ctx context.Context, name, handler string) bool {
	f.mu.Lock()
	fault, undone := f.on[name], f.undone[name]
	f.mu.Unlock()
	if !isFor(fault, handler) {
		return true
	}
	select {
	case <-time.After(time.Duration(fault.Millis) * time.Millisecond):
	case <-undone:
	case <-ctx.Done():
		return false
	}
	return true
}

func isFor(f look.Fault, handler string) bool {
	return f.On && (f.Handler == "" || f.Handler == handler)
}

// setFault switches a fault on or off. On again changes its numbers.
func (w *World) setFault(fault look.Fault) error {
	kind, known := faultKinds[fault.Name]
	switch {
	case !known:
		return fmt.Errorf("%w: fault %q", look.ErrUnknown, fault.Name)
	case fault.Millis < 0 || fault.Millis > maxMillis:
		return fmt.Errorf("%w: want ms in 0 … %d, got %d", look.ErrBadBody, maxMillis, fault.Millis)
	case fault.On && fault.Name == "panic" && utilruntime.ReallyCrash:
		return errPanics
	}
	server := w.backend.server.Faults()
	if !kind.once {
		w.backend.faults.set(fault)
		server.Reset()
		for _, name := range refusing {
			if w.backend.faults.isOn(name) {
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
	return nil
}

// strike is slow, or panics, when a fault wants that of a handler.
func (f *faults) strike(handler string) {
	f.wait(context.Background(), "slow", handler)
	if isFor(f.get("panic"), handler) {
		panic(errInjected)
	}
}

// pace is how long a call of a handler takes in virtual time. Two handlers that would queue a key at the same moment
// then always do it in the same order. No multiple of one is soon one of the other, or of a millisecond.
var pace = map[string]time.Duration{"Service": 1_009_013, "Ingress": 1_621_031}

// faulty makes a handler slow, or panic, when a fault wants it.
func faulty[T listwatch.Object](
	next sharedinformer.Handler[T], name string, faults *faults, pace time.Duration,
) sharedinformer.Handler[T] {
	before := func() {
		time.Sleep(pace)
		faults.strike(name)
	}
	return sharedinformer.HandlerFuncs[T]{
		AddFunc:    func(obj T, initial bool) { before(); next.OnAdd(obj, initial) },
		UpdateFunc: func(was, is T) { before(); next.OnUpdate(was, is) },
		DeleteFunc: func(d sharedinformer.Deletion[T]) { before(); next.OnDelete(d) },
	}
}
