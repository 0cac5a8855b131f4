package look

import (
	"hash/crc32"
	"sync"
	"sync/atomic"
	"time"
)

const (
	ringLen  = 16_384
	tickMost = 200 // events of a tick, beside the notable ones and those of followed keys
)

// Counts are numbers of events, by boundary and kind.
type Counts map[Boundary]map[string]uint64

// counted is what events are counted by.
type counted struct {
	at     Boundary
	kind   string
	hasKey bool
}

// Hub takes the events of what is looked at. It keeps the last of them, counts all, and holds the gate. It has no
// goroutines and no timers. Its methods are safe for concurrent use.
type Hub struct {
	muted atomic.Bool

	mu      sync.Mutex // protects what follows
	view    *View      // what is looked at; not changed
	world   int        // how many views there were
	began   time.Time
	ring    []Event // the event with Seq s is at s % ringLen
	next    uint64  // the Seq of the next event
	first   uint64  // the Seq of the first event of this world
	counts  map[counted]uint64
	gate    GateState
	changed chan struct{} // closed at the next change; nil if nobody waits for one
}

// NewHub returns a hub whose gate is open. It takes events before there is a view, and serves nothing.
func NewHub() *Hub {
	h := &Hub{ring: make([]Event, ringLen), next: 1}
	h.restartLocked()
	return h
}

// Begin forgets everything but the breakpoints: another world begins, and the gate is open. Seq goes on.
func (h *Hub) Begin(v *View) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.view = v
	h.world++
	h.restartLocked()
	v.began = h.began
}

func (h *Hub) restartLocked() {
	h.began, h.first = time.Now(), h.next
	h.counts = map[counted]uint64{}
	h.gate.closing = false
	h.openLocked()
}

// now returns what is looked at, and the number of that world.
func (h *Hub) now() (v *View, world int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.view, h.world
}

// Report takes the events of one call of an observer. If the gate is shut for one of them, it blocks until the gate
// lets them go.
func (h *Hub) Report(events ...Event) {
	if len(events) == 0 || h.muted.Load() {
		return
	}
	h.mu.Lock()
	now := time.Since(h.began)
	batch := h.next
	for i := range events {
		e := &events[i]
		e.Seq, e.Micros = h.next, now.Microseconds()
		if len(events) > 1 {
			e.Batch, e.N = batch, len(events)
		}
		h.takeLocked(e)
	}
	held := h.parkLocked(events)
	h.wakeLocked()
	h.mu.Unlock()
	if held != nil {
		<-held
	}
}

func (h *Hub) takeLocked(e *Event) {
	h.counts[counted{e.At, e.Kind, e.Key != ""}]++
	h.ring[h.next%ringLen] = *e
	h.next++
}

// Seq is that of the newest event.
func (h *Hub) Seq() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next - 1
}

// Show takes events that were recorded elsewhere, with their own times: the world began so long ago. The gate holds none of them back.
func (h *Hub) Show(events []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		h.began = time.Now().Add(-time.Duration(e.Micros) * time.Microsecond)
		e.Seq = h.next
		h.takeLocked(&e)
	}
	h.wakeLocked()
}

// wakeLocked tells the readers that there is something to read.
func (h *Hub) wakeLocked() {
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// Wake is for what changes outside the hub.
func (h *Hub) Wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeLocked()
}

// Changes returns a channel that is closed at the next change.
func (h *Hub) Changes() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

// News is what a reader that has read up to a Seq has not seen.
type News struct {
	Seq     uint64    `json:"seq"`
	Micros  int64     `json:"us"`
	Events  []Event   `json:"events"`
	LeftOut uint64    `json:"left_out"`
	Counts  Counts    `json:"counts"`
	Gate    GateState `json:"gate"`

	State  ViewState        `json:"state"`
	Faults map[string]Fault `json:"faults"`
	Beside any              `json:"beside,omitempty"`
}

// since returns what came after seq, and of that the last events. Of more than tickMost it chooses, by their keys.
func (h *Hub) since(seq, last uint64, follow map[string]bool) News {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := News{Seq: h.next - 1, Micros: time.Since(h.began).Microseconds(), Events: []Event{}, Gate: h.gateLocked()}
	n.Counts = Counts{}
	for c, count := range h.counts {
		if n.Counts[c.at] == nil {
			n.Counts[c.at] = map[string]uint64{}
		}
		n.Counts[c.at][c.kind] += count
	}
	total := min(last, h.next-min(max(seq+1, h.first), h.next))
	// Of a power of two of equal parts of the keys one is chosen. So the keys of a smaller part are in each larger one.
	parts := uint32(1)
	for total > uint64(parts)*tickMost {
		parts *= 2
	}
	for s := h.next - min(total, ringLen); s < h.next; s++ {
		if e := &h.ring[s%ringLen]; e.isNotable() || follow[e.Key] || crc32.ChecksumIEEE([]byte(e.Key))&(parts-1) == 0 {
			n.Events = append(n.Events, *e)
		}
	}
	n.LeftOut = total - uint64(len(n.Events))
	return n
}

// Moment is a place among what is observed. Time alone would not find it again.
type Moment struct {
	Micros int64               `json:"us"`    // since the world began
	After  map[Boundary]uint64 `json:"after"` // how many observations of objects there were
}

// Moment is now.
func (h *Hub) Moment() Moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := Moment{time.Since(h.began).Microseconds(), map[Boundary]uint64{}}
	for c, count := range h.counts {
		if c.hasKey {
			m.After[c.at] += count
		}
	}
	return m
}

// All returns the events of this world that are still known, and how many are not.
func (h *Hub) All() (events []Event, forgotten uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(ringLen, h.next-h.first)
	for s := h.next - n; s < h.next; s++ {
		events = append(events, h.ring[s%ringLen])
	}
	return events, h.next - h.first - n
}
