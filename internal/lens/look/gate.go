package look

import (
	"fmt"
	"slices"
)

// GateState is the gate: it holds back what reaches a boundary while somebody steps. Hub.mu protects that of a hub.
type GateState struct {
	Mode        string       `json:"mode"`          // run or step
	Key         string       `json:"key,omitempty"` // only this one is held back; "" is all
	Parked      []Parked     `json:"parked"`        // in the order in which they came
	Breakpoints []Breakpoint `json:"breakpoints"`
	Hit         *Hit         `json:"hit"`
	Muted       bool         `json:"muted"`

	lastID  int
	closing bool // the world ends, or there is none: nothing is held back
}

// Parked is a call of an observer that is held back.
type Parked struct {
	Seq  uint64   `json:"seq"` // of its first event
	At   Boundary `json:"at"`
	Kind string   `json:"kind,omitempty"`
	Key  string   `json:"key,omitempty"`
	N    int      `json:"n"` // of its events

	released chan struct{} // closed to let go the goroutine that reported
}

// Breakpoint pauses the world at an event that has all that is set here.
type Breakpoint struct {
	ID        int      `json:"id,omitempty"`
	At        Boundary `json:"at,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	Key       string   `json:"key,omitempty"`
	Action    string   `json:"action,omitempty"`
	Handler   string   `json:"handler,omitempty"`
	Tombstone bool     `json:"tombstone,omitempty"`
	Failed    bool     `json:"failed,omitempty"`
	Over      int      `json:"over,omitempty"` // more keys than this are ready, before another one is queued
}

// Hit is the last breakpoint that was met since the gate was open.
type Hit struct {
	ID  int    `json:"id"`
	Seq uint64 `json:"seq"`
}

func (b *Breakpoint) matches(e *Event, v *View) bool {
	return (b.At == "" || b.At == e.At) && (b.Kind == "" || b.Kind == e.Kind) &&
		(b.Key == "" || b.Key == e.Key) && (b.Action == "" || b.Action == e.Action) &&
		(b.Handler == "" || b.Handler == e.Handler) && (!b.Tombstone || e.Tombstone) &&
		(!b.Failed || e.Error != "") && (b.Over == 0 || e.At == Queued && v.Loop.Len() > b.Over)
}

// parkLocked returns the channel that the caller must wait for, or nil if the gate lets the events pass.
func (h *Hub) parkLocked(events []Event) <-chan struct{} {
	g := &h.gate
	if g.closing {
		return nil
	}
	held := g.Mode == "step" && slices.ContainsFunc(events, func(e Event) bool { return g.Key == "" || g.Key == e.Key })
	for i := range events {
		for j := range g.Breakpoints {
			if b := &g.Breakpoints[j]; b.matches(&events[i], h.view) {
				g.Mode, g.Key, held = "step", "", true
				g.Hit = &Hit{b.ID, events[i].Seq}
			}
		}
	}
	if !held {
		return nil
	}
	e, released := &events[0], make(chan struct{})
	g.Parked = append(g.Parked, Parked{e.Seq, e.At, e.Kind, e.Key, len(events), released})
	return released
}

func (h *Hub) openLocked() {
	g := &h.gate
	g.Mode, g.Key, g.Hit = "run", "", nil
	for _, p := range g.Parked {
		close(p.released)
	}
	g.Parked = nil
	h.wakeLocked()
}

// Close opens the gate, and holds nothing back until Begin.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate.closing = true
	h.openLocked()
}

// stepLocked lets go what parked with that Seq. With 0 it is the one that parked first, and something that the server
// is about to send only if nothing else is parked: so one event passes at a time. It returns nil if there is none.
func (h *Hub) stepLocked(seq uint64) *Parked {
	next := -1
	for i, p := range h.gate.Parked {
		if p.Seq == seq || seq == 0 && (next < 0 || h.gate.Parked[next].At == Sent && p.At != Sent) {
			next = i
		}
	}
	if next < 0 {
		return nil
	}
	p := h.gate.Parked[next]
	close(p.released)
	h.gate.Parked = slices.Delete(h.gate.Parked, next, next+1)
	return &p
}

// Stepping reports whether the gate is shut.
func (h *Hub) Stepping() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gate.Mode == "step" && !h.gate.closing
}

// Parked is what is held back.
func (h *Hub) Parked() []Parked {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.gate.Parked)
}

// gateLocked returns a copy.
func (h *Hub) gateLocked() GateState {
	s := h.gate
	s.Parked, s.Breakpoints = append([]Parked{}, s.Parked...), append([]Breakpoint{}, s.Breakpoints...)
	s.Muted = h.muted.Load()
	return s
}

// GateActs are the acts of a hub.
var GateActs = []string{"pause", "step", "run", "mute", "breakpoint", "clear"}

// Do does one of them, if the view lets it.
func (h *Hub) Do(name string, body []byte) (any, error) {
	if v, _ := h.now(); v != nil && v.Can != nil && !slices.Contains(v.Can, name) {
		return nil, fmt.Errorf("%w act %q here: want one of %q", ErrUnknown, name, v.Can)
	}
	b, err := Read[struct {
		Breakpoint
		Seq uint64 `json:"seq"`
		On  bool   `json:"on"`
	}](body)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.wakeLocked()
	g := &h.gate
	switch name {
	case "pause":
		g.Mode, g.Key = "step", b.Key // what is parked stays parked
	case "step":
		return map[string]*Parked{"released": h.stepLocked(b.Seq)}, nil
	case "run":
		h.openLocked()
	case "mute":
		if h.muted.Store(b.On); b.On {
			h.openLocked()
		}
	case "breakpoint":
		if b.Breakpoint == (Breakpoint{}) {
			return nil, fmt.Errorf("%w: a breakpoint for everything is a pause", ErrBadBody)
		}
		g.lastID++
		b.ID = g.lastID
		g.Breakpoints = append(g.Breakpoints, b.Breakpoint)
		return map[string]int{"id": b.ID}, nil
	case "clear":
		n := len(g.Breakpoints)
		g.Breakpoints = slices.DeleteFunc(g.Breakpoints, func(o Breakpoint) bool { return b.ID == 0 || o.ID == b.ID })
		if b.ID != 0 && len(g.Breakpoints) == n {
			return nil, fmt.Errorf("%w breakpoint %d", ErrUnknown, b.ID)
		}
	default:
		return nil, fmt.Errorf("%w act %q", ErrUnknown, name)
	}
	return nil, nil
}
