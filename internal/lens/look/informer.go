package look

import (
	"cmp"
	"context"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
	"glasswatch/observe"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

// Informer is one that is looked at. [At] makes it.
type Informer interface {
	// Run must be called once.
	Run(ctx context.Context) error
	// Refs are the objects of the store, sorted by key.
	Refs() []Ref
	state(h *Hub) InformerState
	contents() Contents
}

// InformerState is that of an informer with its reflector, queue and handlers.
type InformerState struct {
	Kind      string                        `json:"kind"`
	State     string                        `json:"state"`
	Objects   int                           `json:"objects"`
	RV        string                        `json:"rv"`
	LastSync  string                        `json:"last_sync_rv"`
	Synced    bool                          `json:"synced"`
	Error     string                        `json:"error,omitempty"`
	Queued    int                           `json:"queued"`
	Pending   []Ref                         `json:"pending"` // the first listMost; null if nothing is known yet
	Reflector reflector.Stats               `json:"reflector"`
	Handlers  []sharedinformer.HandlerStats `json:"handlers"`
}

// Contents are a store's, for a snapshot.
type Contents struct {
	Store   []Ref                     `json:"store"`
	LeftOut int                       `json:"store_left_out"`
	Indices map[string]map[string]int `json:"indices"` // how many objects a value has
}

// Ref names an object, or a delta of one.
type Ref struct {
	Type string `json:"type,omitempty"` // of a delta
	Kind string `json:"kind,omitempty"`
	Key  string `json:"key,omitempty"`
	RV   string `json:"rv,omitempty"`
}

const (
	listMost  = 50
	storeMost = 500
)

// Observed is an informer with what the lens asks it.
type Observed[T listwatch.Object] struct {
	*sharedinformer.Informer[T]
	Kind      string
	reflector *reflector.Reflector[T]
	queue     pendingQueue[T]
	queued    asked[InformerState] // what it says of the queue
	handlers  asked[[]sharedinformer.HandlerStats]
}

// pendingQueue is either queue.
type pendingQueue[T listwatch.Object] interface {
	Pending() []deltafifo.Delta[listwatch.Key, T]
	Len() int
}

// At makes an informer that reports what passes.
func At[T listwatch.Object](
	lw listwatch.ListerWatcher[T], kind string, opts sharedinformer.Options[T], report func(...Event),
) *Observed[T] {
	o := &Observed[T]{Kind: kind}
	opts.Observe = func(seen []observe.Observation[listwatch.Key]) { report(Of(kind, seen)...) }
	opts.Reflector.Observe = opts.Observe
	// What the informer makes by default; here it is kept, to be asked.
	opts.Feed = func(
		lw listwatch.ListerWatcher[T], queue sharedinformer.Queue[T], opts reflector.Options,
	) sharedinformer.Feeder {
		o.queue, _ = queue.(pendingQueue[T])
		o.reflector = reflector.New(lw, reflector.Sink[T](queue), opts)
		return o.reflector
	}
	o.Informer = sharedinformer.New(lw, opts)
	return o
}

func (o *Observed[T]) state(h *Hub) InformerState {
	held := func() bool { // and with a batch what waits for the informer's locks
		return slices.ContainsFunc(h.Parked(), func(p Parked) bool {
			return p.Kind == o.Kind && (p.At == Popped || p.At == Stored)
		})
	}
	s := o.queued.ask(held, h.Wake, o.queueState)
	s.Handlers = o.handlers.ask(held, h.Wake, func() []sharedinformer.HandlerStats { return o.Stats().Handlers })
	if s.Handlers == nil { // the page wants a list
		s.Handlers = []sharedinformer.HandlerStats{}
	}
	s.Kind, s.State, s.Reflector = o.Kind, o.reflector.State().String(), o.reflector.Stats()
	s.Objects, s.RV = o.Store().Len(), o.Store().ResourceVersion()
	s.LastSync, s.Synced = o.LastSyncResourceVersion(), o.HasSynced()
	if err := o.LastError(); err != nil {
		s.Error = err.Error()
	}
	return s
}

func (o *Observed[T]) queueState() InformerState {
	s, deltas := InformerState{Queued: o.queue.Len(), Pending: []Ref{}}, o.queue.Pending()
	for _, d := range deltas[:min(len(deltas), listMost)] {
		ref := Ref{Type: d.Type.String(), Key: NameOf(d.Key)}
		switch {
		case d.Bulk != nil:
			ref.RV = d.Bulk.ResourceVersion
		case d.Key != listwatch.Key{} && !d.Missing:
			ref.RV = d.Obj.GetResourceVersion()
		}
		s.Pending = append(s.Pending, ref)
	}
	return s
}

// asked is what somebody said last who may have to wait for a lock.
type asked[A any] struct {
	asking sync.Mutex // held by the goroutine that asks
	last   atomic.Pointer[A]
}

// ask asks, unless the lock may be held for as long as something is parked: then the last answer stands. If another
// comes after that, it calls late.
func (a *asked[A]) ask(isHeld func() bool, late func(), question func() A) (answer A) {
	if a.asking.TryLock() {
		var answered, left atomic.Bool
		go func() {
			answer := question()
			before := a.last.Swap(&answer)
			a.asking.Unlock()
			answered.Store(true)
			if left.Load() && !reflect.DeepEqual(before, &answer) {
				late()
			}
		}()
		// There is no timer, for virtual time does not pass while something is parked.
		for !answered.Load() && !left.Load() {
			left.Store(isHeld())
			runtime.Gosched()
		}
	}
	if last := a.last.Load(); last != nil {
		answer = *last
	}
	return answer
}

// Refs implements Informer.
func (o *Observed[T]) Refs() []Ref {
	refs := []Ref{}
	snapshot := o.Store().Snapshot()
	for key, obj := range snapshot.All() {
		refs = append(refs, Ref{Kind: o.Kind, Key: NameOf(key), RV: obj.GetResourceVersion()})
	}
	slices.SortFunc(refs, func(a, b Ref) int { return cmp.Compare(a.Key, b.Key) })
	return refs
}

func (o *Observed[T]) contents() Contents {
	refs, indices := o.Refs(), map[string]map[string]int{}
	for name := range o.Store().GetIndexers() {
		counts := map[string]int{}
		for _, value := range o.Store().ListIndexValues(name) {
			if keys, err := o.Store().IndexKeys(name, value); err == nil && len(counts) < listMost {
				counts[value] = len(keys)
			}
		}
		indices[name] = counts
	}
	shown := refs[:min(len(refs), storeMost)]
	return Contents{Store: shown, LeftOut: len(refs) - len(shown), Indices: indices}
}
