package look

import "context"

// View is what is looked at: informers, and the loop that works on their keys.
type View struct {
	Number    int // of the world: with another one everything begins anew
	Options   any
	Informers map[string]Informer // by resource
	Loop      interface{ Len() int }
	Workers   int
	Enqueuer  string // the name of the handlers that queue keys
	// Can has the acts that Do knows; nil is all.
	Can []string
	// Note is something to be warned of; the page has the words. "lease": a leader that is held back may lose its Lease.
	Note string
	// Do does one of them. The result is for JSON, or nil.
	Do func(ctx context.Context, act string, body []byte) (any, error)
	// Server says how the API server is; nil if it is not in this process.
	Server func() *ServerState
	// Add adds what else there is to say; or nil.
	Add func(*News)
}

// ViewState is what the layers say of a moment. Lists are cut, numbers are not.
type ViewState struct {
	Server    *ServerState             `json:"server,omitempty"` // of one in this process
	Informers map[string]InformerState `json:"informers"`
	Workqueue WorkqueueState           `json:"workqueue"`
}

// Fault is something that goes wrong until it is undone. PROTOCOL.md lists the names.
type Fault struct {
	Name    string `json:"name"`
	On      bool   `json:"on"`
	Millis  int    `json:"ms,omitempty"`
	Handler string `json:"handler,omitempty"` // "" is all
}

// ServerState is that of the API server.
type ServerState struct {
	Up       bool  `json:"up"`
	Revision int64 `json:"revision"`
	Watches  int   `json:"watches"`
}

// State asks the layers.
func (v *View) State(h *Hub) ViewState {
	s := ViewState{Informers: map[string]InformerState{}, Workqueue: h.workqueue()}
	s.Workqueue.Len, s.Workqueue.Workers = v.Loop.Len(), v.Workers
	for resource, in := range v.Informers {
		s.Informers[resource] = in.state(h)
	}
	if v.Server != nil {
		s.Server = v.Server()
	}
	return s
}

// Snapshot is what comes first, before ticks.
type Snapshot struct {
	News
	World    int                 `json:"world"`
	Options  any                 `json:"options"`
	Can      []string            `json:"can"` // null is all
	Note     string              `json:"note,omitempty"`
	Contents map[string]Contents `json:"contents"`
}

// snapshotFirst is how many events a snapshot has.
const snapshotFirst = 200

// tick is what a reader that has read up to seq has not seen.
func (v *View) tick(h *Hub, seq uint64, follow map[string]bool) News {
	state := v.State(h) // first: whatever it shows has its event
	n := h.since(seq, follow)
	n.State, n.Faults = state, map[string]Fault{}
	if v.Add != nil {
		v.Add(&n)
	}
	return n
}

func (v *View) snapshot(h *Hub) Snapshot {
	contents := map[string]Contents{}
	for resource, in := range v.Informers {
		contents[resource] = in.contents()
	}
	s := Snapshot{v.tick(h, 0, nil), v.Number, v.Options, v.Can, v.Note, contents}
	events, _ := h.All()
	for len(events) > 0 && events[len(events)-1].Seq > s.Seq {
		events = events[:len(events)-1] // it came meanwhile
	}
	s.Events, s.LeftOut = events[max(0, len(events)-snapshotFirst):], 0
	return s
}
