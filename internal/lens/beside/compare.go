package beside

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"glasswatch/internal/lens/look"
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
	b.report.Differences++
	if b.report.First == nil {
		b.report.First = &Difference{time.Since(b.began).Microseconds(), o, *r}
	}
}

// quietAfter is longer than client-go waits after a panic of a handler.
const quietAfter = 2 * time.Second

// Run runs client-go's informers, waits for quiet, and then compares, until ctx ends.
func (b *Beside) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, run := range b.runs {
		running.Go(func() { run(ctx) })
	}
	for told := (Counts{}); ctx.Err() == nil; {
		busy := b.options.Busy()
		b.mu.Lock()
		quiet := !busy && !b.moved
		if quiet && !b.report.Quiet {
			b.settleLocked()
		}
		b.report.Quiet, b.moved = quiet, busy
		counts := b.report.Counts
		b.mu.Unlock()
		if counts != told {
			told = counts
			b.options.Changed()
		}
		look.Pause(ctx, quietAfter, nil)
	}
	b.queues[Ours].ShutDown()
	b.queues[ClientGo].ShutDown()
	running.Wait()
}

// settleLocked compares what must be the same when all is quiet, beginning with what was seen first.
func (b *Beside) settleLocked() {
	stores := b.versions()
	for _, h := range b.histories {
		rv, last := stores[h.Object], h.rows[len(h.rows)-1]
		h.lost = h.lost && rv[Ours] != rv[ClientGo]
		switch {
		case h.lost:
		case h.told[Ours] != h.told[ClientGo]:
			b.markLocked("state", h.Object, last)
		case rv[Ours] != rv[ClientGo]:
			b.markLocked("store", h.Object, last)
		}
		for _, r := range h.rows {
			isSent := min(r.Sent[Ours], r.Sent[ClientGo]) != "" && !slices.Contains(r.Sent[:], "LOST")
			if r.opened == b.opened && isSent && (r.Calls[Ours].Name == "") != (r.Calls[ClientGo].Name == "") {
				b.markLocked("fold", h.Object, r)
			}
		}
	}
	if b.queues[Ours].Len()-b.queued[Ours] != b.queues[ClientGo].Len()-b.queued[ClientGo] {
		b.markLocked("queue", Object{}, &b.queueRow)
	}
}

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
	for _, h := range b.histories {
		for i := 0; h.Key == key && i < len(h.rows); i++ {
			r.Rows[h.Kind] = append(r.Rows[h.Kind], *h.rows[i])
		}
	}
	for o, rv := range stores {
		r.Store = append(r.Store, Stored{o, rv})
	}
	slices.SortFunc(r.Store, func(a, b Stored) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
	})
	r.LeftOut = max(0, len(r.Store)-storeMost)
	r.Store = r.Store[:len(r.Store)-r.LeftOut]
	return r
}
