package lens

import (
	"hash/fnv"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

const (
	ringLen  = 16_384
	tickMost = 200 // events of a tick, beside the notable ones and those of followed keys
)

// Hub takes the events of a world. It keeps the last of them, counts all, finds their causes, and holds the gate. It
// has no goroutines and no timers. Its methods are safe for concurrent use.
type Hub struct {
	muted atomic.Bool

	mu     sync.Mutex // protects what follows
	began  time.Time
	ring   []Event // the event with Seq s is at s % ringLen
	next   uint64  // the Seq of the next event
	first  uint64  // the Seq of the first event of this world
	counts map[Boundary]map[string]uint64
	keys   keyStates
	gate   gate
	wakers map[chan struct{}]bool // of capacity 1: a token means that there is something to read
}

// NewHub returns a hub whose gate is open.
func NewHub() *Hub {
	h := &Hub{ring: make([]Event, ringLen), next: 1, wakers: map[chan struct{}]bool{}}
	h.gate.Mode, h.gate.closing = "run", true // until a world begins
	h.restartLocked()
	return h
}

// Restart forgets everything but the breakpoints: another world begins, and the gate is open. Seq goes on.
func (h *Hub) Restart() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.restartLocked()
	h.gate.closing = false
	h.openLocked()
	h.wakeLocked()
}

func (h *Hub) restartLocked() {
	h.began, h.first = time.Now(), h.next
	h.counts, h.keys = map[Boundary]map[string]uint64{}, newKeyStates()
}

// micros is the time since the world began.
func (h *Hub) micros() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.began).Microseconds()
}

// Mute makes the observers report nothing and park nobody, or ends that. What is parked goes on.
func (h *Hub) Mute(on bool) {
	h.muted.Store(on)
	if on {
		h.Run()
	}
	h.Wake()
}

// report takes the events of one call of an observer. If the gate is shut for one of them, it blocks until the gate
// lets them go.
func (h *Hub) report(events ...Event) {
	if len(events) == 0 || h.muted.Load() {
		return
	}
	now := time.Now()
	h.mu.Lock()
	batch := h.next
	for i := range events {
		e := &events[i]
		e.Seq, e.Micros = h.next, now.Sub(h.began).Microseconds()
		if len(events) > 1 {
			e.Batch, e.N = batch, len(events)
		}
		h.keys.note(e, now)
		if h.counts[e.At] == nil {
			h.counts[e.At] = map[string]uint64{}
		}
		h.counts[e.At][e.Kind]++
		h.ring[h.next%ringLen] = *e
		h.next++
	}
	held := h.parkLocked(events)
	h.wakeLocked()
	h.mu.Unlock()
	if held != nil {
		held.Lock()
	}
}

// wakeLocked tells the readers that there is something to read.
func (h *Hub) wakeLocked() {
	for c := range h.wakers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Wake tells the readers that something outside the hub has changed.
func (h *Hub) Wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeLocked()
}

// subscribe returns a channel that has a token whenever there is something to read, and the function that ends this.
func (h *Hub) subscribe() (wake <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakers[c] = true
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.wakers, c)
	}
}

// News is what a reader that has read up to a Seq has not seen.
type News struct {
	Seq     uint64                         `json:"seq"`
	Micros  int64                          `json:"us"`
	Events  []Event                        `json:"events"`
	LeftOut uint64                         `json:"left_out"`
	Counts  map[Boundary]map[string]uint64 `json:"counts"`
	Gate    GateState                      `json:"gate"`
}

// since returns what came after seq. Of more than tickMost events it chooses, by their keys.
func (h *Hub) since(seq uint64, follow map[string]bool) News {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := News{Seq: h.next - 1, Micros: time.Since(h.began).Microseconds(), Events: []Event{}, Gate: h.gateLocked()}
	n.Counts = map[Boundary]map[string]uint64{}
	for at, kinds := range h.counts {
		n.Counts[at] = maps.Clone(kinds)
	}
	from := max(seq+1, h.first)
	total := h.next - min(from, h.next)
	if h.next > ringLen {
		from = max(from, h.next-ringLen)
	}
	// Of a power of two of equal parts of the keys one is chosen. So the keys of a smaller part are in each larger one.
	parts := uint32(1)
	for total > uint64(parts)*tickMost {
		parts *= 2
	}
	for s := from; s < h.next; s++ {
		if e := &h.ring[s%ringLen]; e.isNotable() || follow[e.Key] || hash(e.Key)&(parts-1) == 0 {
			n.Events = append(n.Events, *e)
		}
	}
	n.LeftOut = total - uint64(len(n.Events))
	return n
}

func hash(key string) uint32 {
	f := fnv.New32a()
	_, _ = f.Write([]byte(key))
	return f.Sum32()
}

// last returns the newest events, n at most, and the Seq of the newest.
func (h *Hub) last(n uint64) (events []Event, seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events = []Event{}
	from := h.first
	if h.next-from > n {
		from = h.next - n
	}
	for s := from; s < h.next; s++ {
		events = append(events, h.ring[s%ringLen])
	}
	return events, h.next - 1
}

// Journey returns the events of a key that the ring still has, with their causes.
func (h *Hub) Journey(key string) []Event {
	events, _ := h.last(ringLen)
	return explain(events, key)
}
