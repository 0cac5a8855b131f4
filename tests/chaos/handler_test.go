package chaos

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

type object = *corev1.ConfigMap

// state is what can be compared of an object.
type state struct{ uid, version, value string }

func stateOf(obj object) state {
	return state{string(obj.UID), obj.ResourceVersion, obj.Data["v"]}
}

func (s state) String() string { return fmt.Sprintf("%.4s@%s=%s", s.uid, s.version, s.value) }

// number is the version as a number.
func (s state) number() int64 {
	n, _ := strconv.ParseInt(s.version, 10, 64)
	return n
}

// recorder is a handler that records its calls, and reports impossible ones.
type recorder struct {
	name     string
	folds    bool
	resyncs  bool
	all      *tally
	restores *atomic.Int64

	mu      sync.Mutex // protects what follows
	view    map[listwatch.Key]state
	gone    map[listwatch.Key]state // what was deleted last
	rewound map[listwatch.Key]int64 // how many times a key's version has gone back
	history map[listwatch.Key][]string
	wrong   []string
	panics  int           // that many calls panic
	stall   time.Duration // the next call takes so long
	calm    chan struct{} // closed when stalls are over
}

func newRecorder(name string, folds bool, w *world) *recorder {
	return &recorder{
		name: name, folds: folds, resyncs: w.s.resync, all: w.all, restores: &w.restores, calm: w.calm,
		view: map[listwatch.Key]state{}, gone: map[listwatch.Key]state{},
		rewound: map[listwatch.Key]int64{}, history: map[listwatch.Key][]string{},
	}
}

// misbehave plays the planned faults after a call was noted.
func (r *recorder) misbehave() {
	r.mu.Lock()
	stall := r.stall
	crash := r.panics > 0
	if crash {
		r.panics--
	}
	r.stall = 0
	r.mu.Unlock()
	if stall > 0 {
		r.all.fire(stalled)
		select {
		case <-time.After(stall):
		case <-r.calm:
		}
	}
	if crash {
		r.all.fire(panicked)
		panic("a handler panics")
	}
}

// told notes a call. old and obj are nil where the call has none.
func (r *recorder) told(what string, key listwatch.Key, old, obj *state) {
	r.mu.Lock()
	line := what
	known, knows := r.view[key]
	complain := func(format string, args ...any) {
		r.wrong = append(r.wrong, fmt.Sprintf("handler %s, %s: %s: %s, after %v", r.name, key, line, fmt.Sprintf(format, args...), r.history[key]))
	}
	switch {
	case what == "add":
		line += " " + obj.String()
		if knows {
			complain("it knows %s", known)
		}
		if last, ok := r.gone[key]; ok {
			if last.uid == obj.uid && r.restores.Load() == 0 {
				complain("this very object was deleted")
			}
			r.inOrder(key, last, *obj, complain)
		}
		r.view[key] = *obj
	case what == "update":
		line += fmt.Sprintf(" %s→%s", old, obj)
		switch {
		case !knows:
			complain("it does not know it")
		case !r.given(known, *old):
			complain("it knows %s", known)
		case r.folds && old.uid != obj.uid:
			complain("it is another object, which a folding handler is told so")
		}
		r.inOrder(key, *old, *obj, complain)
		r.view[key] = *obj
	default:
		if obj != nil {
			line += " " + obj.String()
		}
		switch {
		case !knows:
			complain("it does not know it")
		case obj != nil && obj.uid != known.uid:
			complain("it knows %s, which is another object", known)
		case obj != nil:
			r.inOrder(key, known, *obj, complain)
		}
		delete(r.view, key)
		r.gone[key] = known
		if obj != nil {
			r.gone[key] = *obj
		}
	}
	r.history[key] = append(r.history[key], line)
	r.mu.Unlock()
	r.misbehave()
}

// given reports whether old may be an update's old object for a handler that knows known. After a restored backup one
// version may have two states. With a resync period the informer does not promise both.
func (r *recorder) given(known, old state) bool {
	if r.resyncs && r.restores.Load() > 0 {
		known.value = old.value
	}
	return known == old
}

// inOrder reports an error if the version of a key's objects goes back, except for once per restored backup.
func (r *recorder) inOrder(key listwatch.Key, before, after state, complain func(string, ...any)) {
	if after.number() >= before.number() {
		return
	}
	r.rewound[key]++
	if r.rewound[key] > r.restores.Load() {
		complain("the version goes back, and no backup was restored")
	}
}

func (r *recorder) known() map[listwatch.Key]state {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := make(map[listwatch.Key]state, len(r.view))
	for k, v := range r.view {
		known[k] = v
	}
	return known
}

func (r *recorder) complaints() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wrong
}

// misbehaveNext plans panics of the next n calls, and a stall of the next one.
func (r *recorder) misbehaveNext(panics int, stall time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.panics += panics
	r.stall = max(r.stall, stall)
}

// behave ends it. A running stall ends with the world's calm.
func (r *recorder) behave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.panics, r.stall = 0, 0
}

// nativeHandler shows a recorder to our own informer.
type nativeHandler struct{ *recorder }

func (h nativeHandler) OnAdd(obj object, _ bool) {
	now := stateOf(obj)
	h.told("add", listwatch.KeyOf(obj), nil, &now)
}

func (h nativeHandler) OnUpdate(oldObj, newObj object) {
	before, now := stateOf(oldObj), stateOf(newObj)
	h.told("update", listwatch.KeyOf(newObj), &before, &now)
}

func (h nativeHandler) OnDelete(d sharedinformer.Deletion[object]) {
	what := "delete"
	if d.FinalStateUnknown {
		what = "delete, unknown"
	}
	if !d.HasObj() {
		h.told(what, d.Key, nil, nil)
		return
	}
	last := stateOf(d.Obj)
	h.told(what, d.Key, nil, &last)
}

// facadeHandler shows a recorder to an informer with client-go's face.
type facadeHandler struct{ nativeHandler }

func (h facadeHandler) OnAdd(obj any, initial bool) { h.nativeHandler.OnAdd(obj.(object), initial) }

func (h facadeHandler) OnUpdate(oldObj, newObj any) {
	h.nativeHandler.OnUpdate(oldObj.(object), newObj.(object))
}

func (h facadeHandler) OnDelete(obj any) {
	if tombstone, ok := obj.(clientgo.DeletedFinalStateUnknown); ok {
		last := tombstone.Obj.(object)
		h.nativeHandler.OnDelete(sharedinformer.Deletion[object]{Key: listwatch.KeyOf(last), Obj: last, FinalStateUnknown: true})
		return
	}
	last := obj.(object)
	h.nativeHandler.OnDelete(sharedinformer.Deletion[object]{Key: listwatch.KeyOf(last), Obj: last})
}
