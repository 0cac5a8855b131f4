package look

import "time"

// View is what is looked at: informers, and the loop that works on their keys.
type View struct {
	Options   any
	Informers map[string]Informer // by resource
	Loop      Loop
	Workers   int
	Enqueuer  string // the name of the handlers that queue keys
	// Can has the acts that there are; nil is all.
	Can []string
	// Note is something to be warned of; the page has the words. "lease": a leader that is held back may lose its Lease.
	Note string
	// Add adds what else there is to say; or nil.
	Add func(*News)

	began time.Time // set by Begin
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

// Snapshot is what comes first, before ticks.
type Snapshot struct {
	News
	World    int                 `json:"world"`
	Options  any                 `json:"options"`
	Can      []string            `json:"can"` // null is all
	Note     string              `json:"note,omitempty"`
	Contents map[string]Contents `json:"contents"`
}

// Snapshot asks the layers for everything.
func (h *Hub) Snapshot() Snapshot {
	v, world := h.now()
	news := v.news(h, 0, tickMost, nil)
	contents := map[string]Contents{} // after the news: what comes between is told once more
	for resource, in := range v.Informers {
		contents[resource] = in.contents()
	}
	return Snapshot{news, world, v.Options, v.Can, v.Note, contents}
}

// news asks the layers how they are, and then for what came after seq: whatever the state shows has its event.
func (v *View) news(h *Hub, seq, last uint64, follow map[string]bool) News {
	state := ViewState{Informers: map[string]InformerState{}, Workqueue: v.workqueue()}
	for resource, in := range v.Informers {
		state.Informers[resource] = in.state(h)
	}
	n := h.since(seq, last, follow)
	n.State, n.Faults = state, map[string]Fault{}
	if v.Add != nil {
		v.Add(&n)
	}
	return n
}
