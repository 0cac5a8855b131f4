package beside

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// Difference is where the sides are not alike.
type Difference struct {
	What   string `json:"what"` // doc.go has the words
	Micros int64  `json:"us"`   // since the world began
	Object
	Version
}

// Counts are for each tick.
type Counts struct {
	Calls       [2]uint64 `json:"calls"`
	Differences int       `json:"differences"`
	Quiet       bool      `json:"quiet"` // all has been compared
}

// markLocked notes a difference in differs, unless one is noted there.
func (b *Beside) markLocked(differs *string, what string, o Object, v Version) {
	if *differs != "" {
		return
	}
	*differs = what
	if b.counts.Differences++; b.first == nil {
		b.first = &Difference{what, time.Since(b.began).Microseconds(), o, v}
	}
}

// quietAfter is longer than client-go waits after a panic of a handler.
const quietAfter = 2 * time.Second

// Run waits for quiet, and then compares, until ctx ends.
func (b *Beside) Run(ctx context.Context) {
	seen := uint64(0) // what was recorded when nothing was held back
	var told Counts
	for ctx.Err() == nil {
		busy := b.options.Busy()
		b.mu.Lock()
		before := b.counts.Quiet
		switch b.counts.Quiet = !busy && b.seen == seen && seen > 0; {
		case b.counts.Quiet && !before:
			b.settleLocked()
		case busy:
			seen = 0
		default:
			seen = b.seen
		}
		changed := b.counts != told
		told = b.counts
		b.mu.Unlock()
		if changed {
			b.options.Changed()
		}
		select {
		case <-time.After(quietAfter):
		case <-ctx.Done():
		}
	}
	for _, q := range b.queues {
		q.ShutDown()
	}
}

// settleLocked compares what must be the same when all is quiet, beginning with what was seen first.
func (b *Beside) settleLocked() {
	stores := [2]map[Object]string{b.stores[Ours](), b.stores[ClientGo]()}
	surplus := [2]int{b.queues[Ours].Len(), b.queues[ClientGo].Len()}
	objects := slices.SortedFunc(maps.Keys(b.objects), func(one, other Object) int {
		return cmp.Compare(b.objects[one].seen, b.objects[other].seen)
	})
	for _, o := range objects {
		h := b.objects[o]
		for side, told := range h.told {
			if told != (Version{}) {
				surplus[side]--
			}
		}
		last := h.rows[len(h.rows)-1]
		h.lost = h.lost && stores[Ours][o] != stores[ClientGo][o]
		switch {
		case h.lost:
		case h.told[Ours].there() != h.told[ClientGo].there():
			b.markLocked(&last.Differs, "state", o, last.Version)
		case stores[Ours][o] != stores[ClientGo][o]:
			b.markLocked(&last.Differs, "store", o, last.Version)
		}
	}
	if surplus[Ours] != surplus[ClientGo] {
		b.markLocked(&b.queuesDiffer, "queue", Object{}, Version{})
	}
}

// Counts may be called at any time.
func (b *Beside) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts
}

// Report is all that can be seen.
type Report struct {
	Counts
	First   *Difference      `json:"first"`
	Queues  [2]int           `json:"queues"`
	Rows    map[string][]Row `json:"rows"`  // of the objects that have the key, by kind
	Store   []Stored         `json:"store"` // sorted, storeMost at most
	LeftOut int              `json:"store_left_out"`
}

// Stored is what the stores have of an object.
type Stored struct {
	Object
	RV [2]string `json:"rv"` // "" if it is not there
}

const storeMost = 500

// Report tells of the objects that have a key.
func (b *Beside) Report(key string) Report {
	r := Report{Counts: b.Counts(), Rows: map[string][]Row{}, Store: []Stored{}}
	both := map[Object][2]string{}
	for side, store := range b.stores {
		r.Queues[side] = b.queues[side].Len()
		for o, rv := range store() {
			versions := both[o]
			versions[side] = rv
			both[o] = versions
		}
	}
	for o, versions := range both {
		r.Store = append(r.Store, Stored{o, versions})
	}
	slices.SortFunc(r.Store, func(a, b Stored) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
	})
	r.LeftOut = max(0, len(r.Store)-storeMost)
	r.Store = r.Store[:len(r.Store)-r.LeftOut]
	b.mu.Lock()
	defer b.mu.Unlock()
	r.First = b.first
	for o, h := range b.objects {
		for i := 0; o.Key == key && i < len(h.rows); i++ {
			r.Rows[o.Kind] = append(r.Rows[o.Kind], *h.rows[i])
		}
	}
	return r
}
