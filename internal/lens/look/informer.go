package look

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

// Informer is one that is looked at. The others in this package make it: see [At].
type Informer interface {
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
	Pending   []Ref                         `json:"pending"` // the first listMost
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
	pending   asked[pending]
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
	opts.Observe = func(seen sharedinformer.Observation) { report(OfInformer(kind, seen)...) }
	opts.Reflector.Observe = func(seen reflector.Observation) { report(OfReflector(kind, seen)...) }
	// What the informer makes by default; here it is kept, to be asked.
	opts.Feed = func(cfg sharedinformer.ControllerConfig[T]) sharedinformer.Feeder {
		o.queue, _ = cfg.Queue.(pendingQueue[T])
		o.reflector = reflector.New(cfg.ListerWatcher, reflector.Sink[T](cfg.Queue), cfg.Reflector)
		return o.reflector
	}
	o.Informer = sharedinformer.New(lw, opts)
	return o
}

func (o *Observed[T]) state(h *Hub) InformerState {
	held := func() bool { return h.holds(o.Kind) }
	handlers := o.handlers.ask(held, func() []sharedinformer.HandlerStats { return o.Stats().Handlers })
	pending := o.pending.ask(held, o.deltas)
	s := InformerState{
		Kind: o.Kind, State: o.reflector.State().String(),
		Objects: o.Store().Len(), RV: o.Store().ResourceVersion(),
		LastSync: o.LastSyncResourceVersion(), Synced: o.HasSynced(), Reflector: o.reflector.Stats(),
		Handlers: append([]sharedinformer.HandlerStats{}, handlers...), Queued: pending.n, Pending: append([]Ref{}, pending.first...),
	}
	if err := o.LastError(); err != nil {
		s.Error = err.Error()
	}
	return s
}

// pending are the deltas of a queue.
type pending struct {
	n     int
	first []Ref // listMost at most
}

func (o *Observed[T]) deltas() pending {
	p := pending{n: o.queue.Len()}
	deltas := o.queue.Pending()
	for _, d := range deltas[:min(len(deltas), listMost)] {
		ref := Ref{Type: d.Type.String(), Key: NameOf(d.Key)}
		switch {
		case d.Bulk != nil:
			ref.RV = d.Bulk.ResourceVersion
		case d.Key != listwatch.Key{} && !d.Missing:
			ref.RV = d.Obj.GetResourceVersion()
		}
		p.first = append(p.first, ref)
	}
	return p
}

// asked is what somebody said last who may have to wait for a lock.
type asked[A any] struct {
	asking sync.Mutex // held by the goroutine that asks
	last   atomic.Pointer[A]
}

// ask asks, unless the lock is held for as long as something is parked: then the last answer stands.
func (a *asked[A]) ask(isHeld func() bool, question func() A) (answer A) {
	if a.asking.TryLock() {
		var answered atomic.Bool
		go func() {
			defer a.asking.Unlock()
			answer := question()
			a.last.Store(&answer)
			answered.Store(true)
		}()
		// There is no timer, for virtual time does not pass while something is parked.
		for !answered.Load() && !isHeld() {
			runtime.Gosched()
		}
	}
	if last := a.last.Load(); last != nil {
		answer = *last
	}
	return answer
}

func (o *Observed[T]) contents() Contents {
	c := Contents{Store: []Ref{}, Indices: map[string]map[string]int{}}
	snapshot := o.Store().Snapshot()
	for key, obj := range snapshot.All() {
		c.Store = append(c.Store, Ref{Key: NameOf(key), RV: obj.GetResourceVersion()})
	}
	slices.SortFunc(c.Store, func(a, b Ref) int { return cmp.Compare(a.Key, b.Key) })
	c.LeftOut = max(0, len(c.Store)-storeMost)
	c.Store = c.Store[:len(c.Store)-c.LeftOut]
	for name := range o.Store().GetIndexers() {
		counts := map[string]int{}
		for _, value := range o.Store().ListIndexValues(name) {
			if keys, err := o.Store().IndexKeys(name, value); err == nil && len(counts) < listMost {
				counts[value] = len(keys)
			}
		}
		c.Indices[name] = counts
	}
	return c
}
