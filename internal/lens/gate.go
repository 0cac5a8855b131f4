package lens

import "slices"

// gate holds back what reaches a boundary while somebody steps. Hub.mu protects it.
type gate struct {
	step        bool
	key         string // only this one is held back; "" is all
	parked      []*Parked
	breakpoints []Breakpoint
	lastID      int
	hit         *Hit
	closing     bool // the world ends, or there is none: nothing is held back
	// moved is closed, and made anew, whenever something is let go. Those who wait on it never make it. So a hub that was
	// made outside a testing/synctest bubble can be stepped from there, and virtual time stands still meanwhile.
	moved chan struct{}
}

// Parked is a call of an observer that is held back.
type Parked struct {
	Seq  uint64   `json:"seq"` // of its first event
	At   Boundary `json:"at"`
	Kind string   `json:"kind,omitempty"`
	Key  string   `json:"key,omitempty"`
	N    int      `json:"n"` // of its events

	released bool
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
	Over      int      `json:"over,omitempty"` // more keys than this are ready, when one is queued
}

// Hit is the last breakpoint that was met since the gate was open.
type Hit struct {
	ID  int    `json:"id"`
	Seq uint64 `json:"seq"`
}

// GateState is a copy of the gate.
type GateState struct {
	Mode        string       `json:"mode"` // run or step
	Key         string       `json:"key,omitempty"`
	Parked      []Parked     `json:"parked"`
	Breakpoints []Breakpoint `json:"breakpoints"`
	Hit         *Hit         `json:"hit"`
	Muted       bool         `json:"muted"`
}

func (b *Breakpoint) matches(e *Event, ready int) bool {
	return (b.At == "" || b.At == e.At) && (b.Kind == "" || b.Kind == e.Kind) &&
		(b.Key == "" || b.Key == e.Key) && (b.Action == "" || b.Action == e.Action) &&
		(b.Handler == "" || b.Handler == e.Handler) && (!b.Tombstone || e.Tombstone) &&
		(!b.Failed || e.Error != "") && (b.Over == 0 || e.At == Queued && ready > b.Over)
}

// isZero: it would match everything. Pause is for that.
func (b Breakpoint) isZero() bool { return b == Breakpoint{} }

// parkLocked returns nil if the gate lets events pass.
func (h *Hub) parkLocked(events []Event) *Parked {
	g := &h.gate
	if g.closing {
		return nil
	}
	held := g.step && slices.ContainsFunc(events, func(e Event) bool { return g.key == "" || g.key == e.Key })
	for i := range events {
		for j := range g.breakpoints {
			if b := &g.breakpoints[j]; b.matches(&events[i], len(h.keys.ready)) {
				g.step, g.key, held = true, "", true
				g.hit = &Hit{b.ID, events[i].Seq}
			}
		}
	}
	if !held {
		return nil
	}
	p := &Parked{Seq: events[0].Seq, At: events[0].At, Kind: events[0].Kind, Key: events[0].Key, N: len(events)}
	g.parked = append(g.parked, p)
	return p
}

// wait blocks until p is let go or done is closed.
func (h *Hub) wait(p *Parked, done <-chan struct{}) {
	for {
		h.mu.Lock()
		released, moved := p.released, h.gate.moved
		h.mu.Unlock()
		if released {
			return
		}
		select {
		case <-moved:
		case <-done:
			h.mu.Lock()
			defer h.mu.Unlock()
			h.gate.parked = slices.DeleteFunc(h.gate.parked, func(other *Parked) bool { return other == p })
			h.wakeLocked()
			return
		}
	}
}

// releaseLocked lets those go that are chosen.
func (h *Hub) releaseLocked(chosen func(*Parked) bool) {
	n := len(h.gate.parked)
	h.gate.parked = slices.DeleteFunc(h.gate.parked, func(p *Parked) bool {
		p.released = chosen(p)
		return p.released
	})
	if len(h.gate.parked) < n {
		close(h.gate.moved)
		h.gate.moved = make(chan struct{})
	}
	h.wakeLocked()
}

func (h *Hub) openLocked() {
	h.gate.step, h.gate.key, h.gate.hit = false, "", nil
	h.releaseLocked(func(*Parked) bool { return true })
}

// Pause shuts the gate, for one key or, if that is "", for all. Each call of an observer then blocks until Step or Run
// lets it go. What is parked stays parked.
func (h *Hub) Pause(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate.step, h.gate.key = true, key
	h.wakeLocked()
}

// Run opens the gate.
func (h *Hub) Run() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.openLocked()
}

// Close opens the gate, and holds nothing back until Restart.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate.closing = true
	h.openLocked()
}

// Step lets go what parked with that Seq. With 0 it is the one that parked first, and something that the server is about to
// send only if nothing else is parked: so one event passes at a time. It returns nil if there is none.
func (h *Hub) Step(seq uint64) *Parked {
	h.mu.Lock()
	defer h.mu.Unlock()
	var next *Parked
	for _, p := range h.gate.parked {
		switch {
		case seq != 0 && p.Seq == seq, seq == 0 && next == nil, seq == 0 && next.At == Sent && p.At != Sent:
			next = p
		}
	}
	if next == nil {
		return nil
	}
	h.releaseLocked(func(p *Parked) bool { return p == next })
	return next
}

// stepping reports whether the gate is shut.
func (h *Hub) stepping() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gate.step && !h.gate.closing
}

// AddBreakpoint returns its ID.
func (h *Hub) AddBreakpoint(b Breakpoint) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate.lastID++
	b.ID = h.gate.lastID
	h.gate.breakpoints = append(h.gate.breakpoints, b)
	h.wakeLocked()
	return b.ID
}

// ClearBreakpoint removes the one with that ID, or with 0 all, and reports whether there was one. The gate stays as it is.
func (h *Hub) ClearBreakpoint(id int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.gate.breakpoints)
	h.gate.breakpoints = slices.DeleteFunc(h.gate.breakpoints, func(b Breakpoint) bool { return id == 0 || b.ID == id })
	h.wakeLocked()
	return id == 0 || len(h.gate.breakpoints) < n
}

func (h *Hub) gateLocked() GateState {
	g := &h.gate
	s := GateState{Mode: "run", Key: g.key, Parked: []Parked{}, Hit: g.hit, Muted: h.muted.Load()}
	if g.step {
		s.Mode = "step"
	}
	for _, p := range g.parked {
		s.Parked = append(s.Parked, *p)
	}
	s.Breakpoints = append([]Breakpoint{}, g.breakpoints...)
	return s
}
