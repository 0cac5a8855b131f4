package lens

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"glasswatch/deltafifo"
	"glasswatch/internal/lens/beside"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

// WorldState is what the layers say of a moment. Lists are cut, numbers are not.
type WorldState struct {
	Server    ServerState              `json:"server"`
	Informers map[string]InformerState `json:"informers"`
	Workqueue WorkqueueState           `json:"workqueue"`
}

// ServerState is that of the API server.
type ServerState struct {
	Up       bool  `json:"up"`
	Revision int64 `json:"revision"`
	Watches  int   `json:"watches"`
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

const (
	listMost  = 50
	storeMost = 500
)

// looker is an informer on any kind.
type looker interface {
	Run(ctx context.Context) error
	state() InformerState
	contents() Contents
	each(put func(o beside.Object, rv string))
}

// pendingQueue is either queue.
type pendingQueue[T listwatch.Object] interface {
	Pending() []deltafifo.Delta[listwatch.Key, T]
	Len() int
}

// State asks the layers.
func (w *World) State() WorldState {
	s := WorldState{Informers: map[string]InformerState{}, Workqueue: w.hub.workqueue()}
	server := w.backend.server
	s.Server = ServerState{!w.backend.faults.isOn("stop"), server.Revision(), server.Faults().Watches()}
	s.Workqueue.Len, s.Workqueue.Workers = w.loop.Len(), w.options.Workers
	for name, in := range w.informers {
		s.Informers[name] = in.state()
	}
	return s
}

// state asks for nothing that needs the informer's mutex: it is held while a batch is parked.
func (in *informer[T]) state() InformerState {
	s := InformerState{
		Kind: in.kind, State: in.reflector.State().String(),
		Objects: in.Store().Len(), RV: in.Store().ResourceVersion(),
		LastSync: in.LastSyncResourceVersion(), Synced: in.HasSynced(), Reflector: in.reflector.Stats(),
	}
	if err := in.LastError(); err != nil {
		s.Error = err.Error()
	}
	for _, r := range in.handlers {
		s.Handlers = append(s.Handlers, r.Stats())
	}
	pending := in.ask()
	s.Queued, s.Pending = pending.n, pending.list
	return s
}

func (in *informer[T]) deltas() []Ref {
	deltas, list := in.queue.Pending(), []Ref{}
	for _, d := range deltas[:min(len(deltas), listMost)] {
		p := Ref{Type: d.Type.String(), Key: nameOf(d.Key)}
		switch {
		case d.Bulk != nil:
			p.RV = d.Bulk.ResourceVersion
		case d.Key != listwatch.Key{} && !d.Missing:
			p.RV = d.Obj.GetResourceVersion()
		}
		list = append(list, p)
	}
	return list
}

// waiting is what a queue said last.
type waiting struct {
	n    int
	list []Ref
}

// ask asks the queue, unless its lock is held for as long as something is parked: then the last answer stands.
func (in *informer[T]) ask() waiting {
	if in.asking.TryLock() {
		var answered atomic.Bool
		go func() {
			defer in.asking.Unlock()
			in.waiting.Store(&waiting{in.queue.Len(), in.deltas()})
			answered.Store(true)
		}()
		// There is no timer, for virtual time does not pass while something is parked.
		for !answered.Load() && !in.hub.holds(in.kind) {
			runtime.Gosched()
		}
	}
	if last := in.waiting.Load(); last != nil {
		return *last
	}
	return waiting{list: []Ref{}}
}

func (in *informer[T]) contents() Contents {
	c := Contents{Store: []Ref{}, Indices: map[string]map[string]int{}}
	snapshot := in.Store().Snapshot()
	for key, obj := range snapshot.All() {
		c.Store = append(c.Store, Ref{Key: nameOf(key), RV: obj.GetResourceVersion()})
	}
	slices.SortFunc(c.Store, func(a, b Ref) int { return cmp.Compare(a.Key, b.Key) })
	c.LeftOut = max(0, len(c.Store)-storeMost)
	c.Store = c.Store[:len(c.Store)-c.LeftOut]
	for name := range in.Store().GetIndexers() {
		counts := map[string]int{}
		for _, value := range in.Store().ListIndexValues(name) {
			if keys, err := in.Store().IndexKeys(name, value); err == nil && len(counts) < listMost {
				counts[value] = len(keys)
			}
		}
		c.Indices[name] = counts
	}
	return c
}
