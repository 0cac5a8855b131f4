package lens

import (
	"slices"
	"strings"
	"time"
)

// SyncedInformer is what the lens asks an informer. Ours and client-go's have it.
type SyncedInformer interface {
	HasSynced() bool
	LastSyncResourceVersion() string
}

// AddInformer shows an informer's state on the page. The name is that of ObserveInformer. WatchInformer does it already.
func (l *Lens) AddInformer(name string, informer SyncedInformer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.informerLocked(name).informer = informer
}

// Queue is what the lens asks a queue.
type Queue interface{ Len() int }

// AddQueue shows the length of a controller's queue on the page. The name is that of ObserveController. WatchQueue does
// it already.
func (l *Lens) AddQueue(controller string, queue Queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queues[controller] = queue
}

// Informer is what is known of an informer.
type Informer struct {
	Name string `json:"name"`
	// IsVisible: AddInformer was called, so the next two are known.
	IsVisible       bool      `json:"isVisible"`
	Synced          bool      `json:"synced"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Handlers        []Handler `json:"handlers"` // by name
}

// Handler counts the calls of a handler since the lens was switched on.
type Handler struct {
	Name    string        `json:"name"`
	Calls   int           `json:"calls"`
	Slowest time.Duration `json:"slowest"`
}

// Controller is what is known of a controller.
type Controller struct {
	Name string `json:"name"`
	// QueueLength is -1 if AddQueue was not called.
	QueueLength int `json:"queueLength"`
}

type informerState struct {
	informer SyncedInformer // or nil
	handlers map[string]*Handler
}

// informerLocked returns the state of an informer, which may be new.
func (l *Lens) informerLocked(name string) *informerState {
	state := l.informers[name]
	if state == nil {
		state = &informerState{handlers: map[string]*Handler{}}
		l.informers[name] = state
	}
	return state
}

// note counts a call of a handler.
func (s *informerState) note(handler string, took time.Duration) {
	h := s.handlers[handler]
	if h == nil {
		h = &Handler{Name: handler}
		s.handlers[handler] = h
	}
	h.Calls++
	h.Slowest = max(h.Slowest, took)
}

// Informers returns what is known of the informers, by name. It asks them with no lock held.
func (l *Lens) Informers() []Informer {
	all := []Informer{}
	var ask []SyncedInformer
	l.mu.Lock()
	for name, state := range l.informers {
		in := Informer{Name: name, Handlers: []Handler{}}
		for _, h := range state.handlers {
			in.Handlers = append(in.Handlers, *h)
		}
		slices.SortFunc(in.Handlers, func(a, b Handler) int { return strings.Compare(a.Name, b.Name) })
		all = append(all, in)
		ask = append(ask, state.informer)
	}
	l.mu.Unlock()
	for i, informer := range ask {
		if informer != nil {
			all[i].IsVisible = true
			all[i].Synced = informer.HasSynced()
			all[i].ResourceVersion = informer.LastSyncResourceVersion()
		}
	}
	slices.SortFunc(all, func(a, b Informer) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Controllers returns what is known of the controllers, by name. It asks their queues with no lock held.
func (l *Lens) Controllers() []Controller {
	queues := map[string]Queue{}
	l.mu.Lock()
	for name, queue := range l.queues {
		queues[name] = queue
	}
	for name := range l.stories {
		queues[name.controller] = l.queues[name.controller]
	}
	l.mu.Unlock()
	all := []Controller{}
	for name, queue := range queues {
		c := Controller{Name: name, QueueLength: -1}
		if queue != nil {
			c.QueueLength = queue.Len()
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Controller) int { return strings.Compare(a.Name, b.Name) })
	return all
}
