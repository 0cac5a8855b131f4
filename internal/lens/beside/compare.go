package beside

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// Counts are for each tick.
type Counts struct {
	Calls       [2]uint64 `json:"calls"`
	Differences int       `json:"differences"`
	Quiet       bool      `json:"quiet"` // all has been compared
}

// Difference is a row whose sides are not alike.
type Difference struct {
	Micros int64 `json:"us"` // since the world began
	Object
	Row
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

// markLocked notes that a row differs, once.
func (b *Beside) markLocked(what string, o Object, r *Row) {
	if r.Differs != "" {
		return
	}
	r.Differs = what
	if b.report.Differences++; b.report.First == nil {
		b.report.First = &Difference{time.Since(b.began).Microseconds(), o, *r}
	}
}

// quietAfter is longer than client-go waits after a panic of a handler.
const quietAfter = 2 * time.Second

const never = ^uint64(0)

// Run waits for quiet, and then compares, until ctx ends.
func (b *Beside) Run(ctx context.Context) {
	seen := never // what was recorded when nothing was held back
	var told Counts
	for ctx.Err() == nil {
		busy := b.options.Busy()
		b.mu.Lock()
		quiet := !busy && b.seen == seen
		if quiet && !b.report.Quiet {
			b.settleLocked()
		}
		if b.report.Quiet, seen = quiet, b.seen; busy {
			seen = never
		}
		changed := b.report.Counts != told
		told = b.report.Counts
		b.mu.Unlock()
		if changed {
			b.options.Changed()
		}
		select {
		case <-time.After(quietAfter):
		case <-ctx.Done():
		}
	}
	b.queues[Ours].ShutDown()
	b.queues[ClientGo].ShutDown()
}

// settleLocked compares what must be the same when all is quiet, beginning with what was seen first.
func (b *Beside) settleLocked() {
	stores := b.versions()
	for _, o := range slices.SortedFunc(maps.Keys(b.objects), func(one, other Object) int {
		return cmp.Compare(b.objects[one].seen, b.objects[other].seen)
	}) {
		h, rv := b.objects[o], stores[o]
		last := h.rows[len(h.rows)-1]
		h.lost = h.lost && rv[Ours] != rv[ClientGo]
		switch {
		case h.lost:
		case h.told[Ours] != h.told[ClientGo]:
			b.markLocked("state", o, last)
		case rv[Ours] != rv[ClientGo]:
			b.markLocked("store", o, last)
		}
		for _, r := range h.rows {
			isSent := min(r.Sent[Ours], r.Sent[ClientGo]) != "" && !slices.Contains(r.Sent[:], "LOST")
			if r.seen > b.opened && isSent && (r.Calls[Ours].Name == "") != (r.Calls[ClientGo].Name == "") {
				b.markLocked("fold", o, r)
			}
		}
	}
	if b.surplusLocked(Ours) != b.surplusLocked(ClientGo) {
		b.markLocked("queue", Object{}, &b.queueRow)
	}
}

// surplusLocked is how many keys a queue has more than were added.
func (b *Beside) surplusLocked(side int) int { return b.queues[side].Len() - len(b.queued[side]) }

// Counts may be called at any time.
func (b *Beside) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.report.Counts
}

// Report tells of the objects that have a key.
func (b *Beside) Report(key string) Report {
	stores := b.versions()
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.report
	r.Queues, r.Rows, r.Store = [2]int{b.queues[Ours].Len(), b.queues[ClientGo].Len()}, map[string][]Row{}, []Stored{}
	for o, h := range b.objects {
		for i := 0; o.Key == key && i < len(h.rows); i++ {
			r.Rows[o.Kind] = append(r.Rows[o.Kind], *h.rows[i])
		}
	}
	for _, o := range slices.SortedFunc(maps.Keys(stores), func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
	}) {
		if len(r.Store) < storeMost {
			r.Store = append(r.Store, Stored{o, stores[o]})
		}
	}
	r.LeftOut = len(stores) - len(r.Store)
	return r
}
