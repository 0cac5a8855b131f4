package lens

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"glasswatch/deltafifo"
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
	Pending   []Pending                     `json:"pending"` // the first listMost
	Reflector reflector.Stats               `json:"reflector"`
	Handlers  []sharedinformer.HandlerStats `json:"handlers"`
}

// Pending is a delta that waits in a queue.
type Pending struct {
	Type string `json:"type"`
	Key  string `json:"key,omitempty"`
	RV   string `json:"rv,omitempty"`
}

// StoredObject is an object in a store.
type StoredObject struct {
	Key string `json:"key"`
	RV  string `json:"rv"`
}

// Contents are a store's, for a snapshot.
type Contents struct {
	Store   []StoredObject            `json:"store"`
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
	s.Queued, s.Pending = in.pending.ask(func() (int, []Pending) {
		return in.queue.Len(), in.waiting()
	})
	return s
}

func (in *informer[T]) waiting() []Pending {
	list := []Pending{}
	for _, d := range in.queue.Pending() {
		if len(list) == listMost {
			break
		}
		p := Pending{Type: d.Type.String(), Key: nameOf(d.Key)}
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

// pending asks a queue, whose lock may be held for as long as something is parked: then it repeats the last answer.
type pending struct {
	mu    sync.Mutex // protects what follows
	asked bool
	n     int
	list  []Pending
}

// queuePatience is how long a queue that is only busy may take.
const queuePatience = 20 * time.Millisecond

func (p *pending) ask(question func() (int, []Pending)) (int, []Pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asked {
		p.asked = true
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			n, list := question()
			p.mu.Lock()
			defer p.mu.Unlock()
			p.asked, p.n, p.list = false, n, list
		}()
		p.mu.Unlock()
		timer := time.NewTimer(queuePatience)
		select {
		case <-answered:
		case <-timer.C:
		}
		timer.Stop()
		p.mu.Lock()
	}
	return p.n, append([]Pending{}, p.list...)
}

func (in *informer[T]) contents() Contents {
	c := Contents{Store: []StoredObject{}, Indices: map[string]map[string]int{}}
	snapshot := in.Store().Snapshot()
	for key, obj := range snapshot.All() {
		c.Store = append(c.Store, StoredObject{nameOf(key), obj.GetResourceVersion()})
	}
	slices.SortFunc(c.Store, func(a, b StoredObject) int { return cmp.Compare(a.Key, b.Key) })
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

// WorkqueueState is that of the workqueue. Len is the queue's own number, the rest follows from observations.
type WorkqueueState struct {
	Len        int            `json:"len"`
	Workers    int            `json:"workers"`
	Ready      []string       `json:"ready"`
	Processing []string       `json:"processing"`
	Dirty      []string       `json:"dirty"`
	Delayed    []Delayed      `json:"delayed"` // those that are due first
	DelayedN   int            `json:"delayed_n"`
	Retries    map[string]int `json:"retries"`
}

// Delayed is a key that waits for its time.
type Delayed struct {
	Key string `json:"key"`
	Due int64  `json:"due_us"`
}

func (h *Hub) workqueue() WorkqueueState {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := &h.keys
	k.expire(time.Now())
	s := WorkqueueState{
		Ready: firstKeys(k.ready), Processing: firstKeys(k.processing), Dirty: firstKeys(k.dirty),
		Delayed: []Delayed{}, DelayedN: len(k.delayed), Retries: map[string]int{},
	}
	for key, due := range k.delayed {
		s.Delayed = append(s.Delayed, Delayed{key, due.Sub(h.began).Microseconds()})
	}
	slices.SortFunc(s.Delayed, func(a, b Delayed) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Key, b.Key))
	})
	s.Delayed = s.Delayed[:min(len(s.Delayed), listMost)]
	for key, n := range k.retries {
		if len(s.Retries) < listMost {
			s.Retries[key] = n
		}
	}
	return s
}

// firstKeys sorts some of very many keys, or all of few.
func firstKeys(m map[string]bool) []string {
	keys := []string{}
	for key := range m {
		if keys = append(keys, key); len(keys) == storeMost {
			break
		}
	}
	slices.Sort(keys)
	return keys[:min(len(keys), listMost)]
}
