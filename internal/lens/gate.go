package lens

import (
	"slices"
	"sync"
)

// GateState is what the page is told of the gate.
type GateState struct {
	Mode        string       `json:"mode"`          // run or step
	Key         string       `json:"key,omitempty"` // only this one is held back; "" is all
	Parked      []Parked     `json:"parked"`        // in the order in which they came
	Breakpoints []Breakpoint `json:"breakpoints"`
	Hit         *Hit         `json:"hit"`
	Muted       bool         `json:"muted"`
}

// gate holds back what reaches a boundary while somebody steps. Hub.mu protects it.
type gate struct {
	GateState
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

	// lock is locked; who reported waits for it. It is no channel, so that a world in a testing/synctest bubble can be
	// stepped from outside, and its virtual time stands still meanwhile.
	lock *sync.Mutex
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

func (b *Breakpoint) matches(e *Event, ready int) bool {
	return (b.At == "" || b.At == e.At) && (b.Kind == "" || b.Kind == e.Kind) &&
		(b.Key == "" || b.Key == e.Key) && (b.Action == "" || b.Action == e.Action) &&
		(b.Handler == "" || b.Handler == e.Handler) && (!b.Tombstone || e.Tombstone) &&
		(!b.Failed || e.Error != "") && (b.Over == 0 || e.At == Queued && ready > b.Over)
}

// parkLocked returns the lock that the caller must wait for, or nil if the gate lets the events pass.
func (h *Hub) parkLocked(events []Event) *sync.Mutex {
	g := &h.gate
	if g.closing {
		return nil
	}
	held := g.Mode == "step" && slices.ContainsFunc(events, func(e Event) bool { return g.Key == "" || g.Key == e.Key })
	for i := range events {
		for j := range g.Breakpoints {
			if b := &g.Breakpoints[j]; b.matches(&events[i], len(h.keys.ready)) {
				g.Mode, g.Key, held = "step", "", true
				g.Hit = &Hit{b.ID, events[i].Seq}
			}
		}
	}
	if !held {
		return nil
	}
	e, lock := &events[0], &sync.Mutex{}
	lock.Lock()
	g.Parked = append(g.Parked, Parked{Seq: e.Seq, At: e.At, Kind: e.Kind, Key: e.Key, N: len(events), lock: lock})
	return lock
}

// releaseLocked lets those go that are chosen.
func (h *Hub) releaseLocked(chosen func(Parked) bool) {
	h.gate.Parked = slices.DeleteFunc(h.gate.Parked, func(p Parked) bool {
		if chosen(p) {
			p.lock.Unlock()
			return true
		}
		return false
	})
	h.wakeLocked()
}

func (h *Hub) openLocked() {
	h.gate.Mode, h.gate.Key, h.gate.Hit = "run", "", nil
	h.releaseLocked(func(Parked) bool { return true })
}

// Pause shuts the gate, for one key or, if that is "", for all. Each call of an observer then blocks until Step or Run
// lets it go. What is parked stays parked.
func (h *Hub) Pause(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate.Mode, h.gate.Key = "step", key
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

// Step lets go what parked with that Seq. With 0 it is the one that parked first, and something that the server is
// about to send only if nothing else is parked: so one event passes at a time. It returns nil if there is none.
func (h *Hub) Step(seq uint64) *Parked {
	h.mu.Lock()
	defer h.mu.Unlock()
	var next *Parked
	for _, p := range h.gate.Parked {
		if p.Seq == seq || seq == 0 && (next == nil || next.At == Sent && p.At != Sent) {
			next = &p
		}
	}
	if next != nil {
		h.releaseLocked(func(p Parked) bool { return p.Seq == next.Seq })
	}
	return next
}

// stepping reports whether the gate is shut.
func (h *Hub) stepping() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gate.Mode == "step" && !h.gate.closing
}

// AddBreakpoint returns its ID.
func (h *Hub) AddBreakpoint(b Breakpoint) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate.lastID++
	b.ID = h.gate.lastID
	h.gate.Breakpoints = append(h.gate.Breakpoints, b)
	h.wakeLocked()
	return b.ID
}

// ClearBreakpoint removes the one with that ID, or with 0 all, and reports whether there was one. The gate stays as it
// is.
func (h *Hub) ClearBreakpoint(id int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.gate.Breakpoints)
	h.gate.Breakpoints = slices.DeleteFunc(h.gate.Breakpoints, func(b Breakpoint) bool { return id == 0 || b.ID == id })
	h.wakeLocked()
	return id == 0 || len(h.gate.Breakpoints) < n
}

// gateLocked returns a copy.
func (h *Hub) gateLocked() GateState {
	s := h.gate.GateState
	s.Parked, s.Breakpoints = append([]Parked{}, s.Parked...), append([]Breakpoint{}, s.Breakpoints...)
	s.Muted = h.muted.Load()
	return s
}
