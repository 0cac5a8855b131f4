package lens

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/client-go/tools/cache"

	"glasswatch/sharedinformer"
)

// SyncedInformer is what the lens asks an informer. Ours and client-go's have it. An informer that also has Stats and
// LastError, as ours and those of compat/cache have, is asked for these.
type SyncedInformer interface {
	HasSynced() bool
	LastSyncResourceVersion() string
}

// AddInformer shows an informer's state on the page. The name is that of ObserveInformer. WatchInformer does it already.
// An informer that has ended is let go, and its name stays until RemoveInformer. A program that makes informers with ever new
// names must call that.
func (l *Lens) AddInformer(name string, informer SyncedInformer) {
	l.letGoOfEnded()
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.informerLocked(name)
	state.informer, state.hasEnded, state.lag = &informer, false, Lag{}
}

// RemoveInformer forgets an informer and its handlers. The keys that they enqueued keep their causes.
func (l *Lens) RemoveInformer(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.informers, name)
}

// Informer is what is known of an informer. A number of -1 is not visible.
type Informer struct {
	Name string `json:"name"`
	// IsVisible: AddInformer was called, and the informer has not ended. So the next two are known.
	IsVisible bool `json:"isVisible"`
	Synced    bool `json:"synced"`
	// ResourceVersion is the one up to which lists and watches have read.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	HasEnded        bool   `json:"hasEnded"`
	Objects         int    `json:"objects"` // in the store
	Queued          int    `json:"queued"`  // changes that were read, and are not in the store yet
	// LastError is why lists or watches fail now. It is visible if Objects is.
	LastError string `json:"lastError,omitempty"`
	// LastEvent is when an event or a bookmark came last, since the lens was switched on. Of a watched informer it is
	// when a handler was called last, other than for a resync.
	LastEvent time.Time `json:"lastEvent,omitzero"`
	// CanAsk: AddServer was called, and the informer has not ended. Server is what the server said when it was asked last.
	CanAsk   bool      `json:"canAsk"`
	Server   Lag       `json:"server,omitzero"`
	Handlers []Handler `json:"handlers"` // by name
}

// Behind says how far the informer is behind its server: what it knows itself, and what the server said when it was asked.
func (in Informer) Behind() string {
	text := "not visible"
	if in.Objects >= 0 {
		text = fmt.Sprintf("%s waiting for the store of %s", count(in.Queued, "change"), count(in.Objects, "object"))
	}
	if !in.LastEvent.IsZero() {
		text += fmt.Sprintf("; the last event came %v ago", time.Since(in.LastEvent).Round(time.Millisecond))
	}
	if in.LastError != "" {
		text += "; it fails: " + in.LastError
	}
	if !in.Server.Asked.IsZero() {
		text += "; " + in.Server.String()
	}
	return text
}

// Handler counts the calls of a handler since the lens was switched on. Watched handlers of one name count together.
type Handler struct {
	Name string `json:"name"`
	// Calls is -1, which is not visible, if the handler was not added to what WatchInformer returned.
	Calls   int           `json:"calls"`
	Slowest time.Duration `json:"slowest"`
	// Backlog is how many changes wait for the handler, the one it is at included; -1 is not visible.
	Backlog int `json:"backlog"`
}

type informerState struct {
	informer      *SyncedInformer // nil if there was none, or it has ended
	hasEnded      bool
	isObserved    bool    // by ObserveInformer
	server        *server // nil if nobody said how to ask it
	lag           Lag     // when it was asked last
	lastEvent     time.Time
	handlers      map[string]Handler
	registrations []registration
}

// registration is that of a watched handler.
type registration struct {
	handler string
	of      knowsBacklog
	done    <-chan struct{} // its Done
}

// knowsBacklog is a registration of compat/cache. client-go's is none.
type knowsBacklog interface {
	Stats() sharedinformer.HandlerStats
	Done() <-chan struct{}
}

func (r registration) hasEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// maxInformers is how many informers are known. Past it those that have ended are forgotten.
const maxInformers = 1000

// informerLocked returns the state of an informer, which may be new.
func (l *Lens) informerLocked(name string) *informerState {
	state := l.informers[name]
	if state != nil {
		return state
	}
	if len(l.informers) >= maxInformers {
		maps.DeleteFunc(l.informers, func(_ string, s *informerState) bool { return s.hasEnded })
	}
	state = &informerState{handlers: map[string]Handler{}}
	l.informers[name] = state
	return state
}

// maxHandlers is how many handlers of an informer are counted. Past it the counts begin anew.
const maxHandlers = 1000

// note counts a call of a handler.
func (s *informerState) note(handler string, took time.Duration) {
	h, known := s.handlers[handler]
	if !known && len(s.handlers) >= maxHandlers {
		clear(s.handlers)
	}
	h.Calls++
	h.Slowest = max(h.Slowest, took)
	s.handlers[handler] = h
}

// heard notes that something has come to an informer.
func (l *Lens) heard(informer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if state := l.informers[informer]; state != nil {
		state.lastEvent = time.Now()
	}
}

// addRegistration notes a handler of an informer, if that knows its backlog.
func (l *Lens) addRegistration(informer, handler string, registered any) {
	of, ok := registered.(knowsBacklog)
	if !ok {
		return
	}
	added := registration{handler, of, of.Done()}
	l.letGoOfEnded()
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.informerLocked(informer)
	state.registrations = append(state.registrations, added)
}

// letGoOfEnded drops what has ended: an informer keeps its store in memory, a handler its informer.
func (l *Lens) letGoOfEnded() {
	asked := map[string]*SyncedInformer{}
	l.mu.Lock()
	for name, state := range l.informers {
		asked[name] = state.informer
		state.registrations = slices.DeleteFunc(state.registrations, registration.hasEnded)
	}
	l.mu.Unlock()
	maps.DeleteFunc(asked, func(_ string, informer *SyncedInformer) bool {
		return informer == nil || !hasEnded(*informer)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, informer := range asked {
		if state := l.informers[name]; state != nil && state.informer == informer {
			state.informer, state.hasEnded = nil, true
		}
	}
}

// hasEnded reports whether an informer ran, and runs no more.
func hasEnded(informer SyncedInformer) bool {
	switch i := informer.(type) {
	case interface{ IsStopped() bool }: // client-go's
		return i.IsStopped()
	case interface{ Stopped() bool }: // ours
		return i.Stopped()
	}
	return false
}

// Informers returns what is known of the informers, by name. It asks them with no lock held.
func (l *Lens) Informers() []Informer {
	l.letGoOfEnded()
	all := []Informer{}
	var states []informerState
	l.mu.Lock()
	for name, state := range l.informers {
		all = append(all, Informer{
			Name: name, HasEnded: state.hasEnded, LastEvent: state.lastEvent, CanAsk: state.server != nil && state.informer != nil, Server: state.lag,
		})
		copied := *state
		copied.handlers, copied.registrations = maps.Clone(state.handlers), slices.Clone(state.registrations)
		states = append(states, copied)
	}
	l.mu.Unlock()
	for i, state := range states {
		backlogs := map[string]int{}
		all[i].ask(state.informer, backlogs)
		watched := map[string]int{}
		for _, r := range state.registrations {
			stats := r.of.Stats()
			watched[r.handler] += stats.Depth
			delete(backlogs, stats.Name) // the informer's name for it
		}
		all[i].Handlers = state.handlersWith(backlogs, watched)
	}
	slices.SortFunc(all, func(a, b Informer) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// ask fills in what an informer says of itself, and the backlogs of its handlers.
func (in *Informer) ask(informer *SyncedInformer, backlogs map[string]int) {
	in.Objects, in.Queued = -1, -1
	if informer == nil {
		return
	}
	in.IsVisible = true
	in.Synced = (*informer).HasSynced()
	in.ResourceVersion = (*informer).LastSyncResourceVersion()
	ours := oursOf(*informer)
	if ours == nil {
		return
	}
	stats := ours.Stats()
	in.Objects, in.Queued = stats.Objects, stats.QueueDepth
	if err := ours.LastError(); err != nil {
		in.LastError = oneLine(err.Error())
	}
	for _, h := range stats.Handlers {
		backlogs[h.Name] = h.Depth
	}
}

// oursInformer is what our informers and those of compat/cache tell of themselves.
type oursInformer interface {
	Stats() sharedinformer.Stats
	LastError() error
}

// oursOf returns what tells of the informer, or nil. The factories of client-go wrap an informer, and what they return
// hides all of it but its controller.
func oursOf(informer SyncedInformer) oursInformer {
	if ours, ok := informer.(oursInformer); ok {
		return ours
	}
	wrapped, ok := informer.(interface{ GetController() cache.Controller })
	if !ok {
		return nil
	}
	ours, _ := wrapped.GetController().(oursInformer)
	return ours
}

// handlersWith returns handlers by name: those that were called, and those whose backlogs are known: by the informer, and by
// the registrations of watched handlers.
func (s *informerState) handlersWith(backlogs, watched map[string]int) []Handler {
	all := map[string]Handler{}
	for name, backlog := range backlogs {
		h := Handler{Name: name, Calls: -1, Backlog: backlog}
		if s.isObserved {
			h.Calls = 0 // and none yet
		}
		all[name] = h
	}
	for name, backlog := range watched {
		all[name] = Handler{Name: name, Backlog: backlog + all[name].Backlog}
	}
	for name, called := range s.handlers {
		h, known := all[name]
		if !known {
			h.Backlog = -1
		}
		all[name] = Handler{Name: name, Calls: called.Calls, Slowest: called.Slowest, Backlog: h.Backlog}
	}
	handlers := slices.AppendSeq([]Handler{}, maps.Values(all))
	slices.SortFunc(handlers, func(a, b Handler) int { return cmp.Compare(a.Name, b.Name) })
	return handlers
}
