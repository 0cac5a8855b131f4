package beside

import (
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	clientgo "k8s.io/client-go/util/workqueue"

	"glasswatch/internal/lens/look"
	"glasswatch/workqueue"
)

// The sides.
const (
	Ours = iota
	ClientGo
)

// Object names one.
type Object struct {
	Kind string `json:"kind"`
	Key  string `json:"key"`
}

// Call is one of a handler. The zero value is none.
type Call struct {
	Name      string `json:"name,omitempty"` // OnAdd, OnUpdate, OnDelete
	Old       string `json:"old,omitempty"`
	Tombstone bool   `json:"tombstone,omitempty"`
	before    string // the version that the handler was told of before, "" if there was no object
}

// Row is what both sides saw of a version. Nothing is known of what came in pages of lists.
type Row struct {
	RV      string    `json:"rv"`
	Gone    bool      `json:"gone,omitempty"` // RV is that of the deletion, or for a tombstone the last that was known
	Sent    [2]string `json:"sent"`           // ADDED, MODIFIED, DELETED, or LOST on the way
	Calls   [2]Call   `json:"calls"`
	Differs string    `json:"differs,omitempty"` // doc.go has the words
	opened  int       // how many lists and watches there were when it was recorded first
}

// history of an object.
type history struct {
	Object
	rows   []*Row    // the newest rowsMost, in the order in which they were seen first
	told   [2]string // the versions that the handlers were told of last, "" if there is no object
	queued [2]bool   // the handlers were told of it at all
	lost   bool      // an event was, and the stores have not agreed since
}

const rowsMost = 100

// Beside records and compares. Its methods are safe for concurrent use.
type Beside struct {
	options Options
	began   time.Time
	stores  map[string]cache.Store // client-go's, by kind
	runs    []run                  // of client-go's informers
	queues  [2]interface {
		Add(o Object)
		Len() int
		ShutDown()
	}

	mu        sync.Mutex // protects what follows
	objects   map[Object]*history
	histories []*history // the same in the order in which they were seen first
	queued    [2]int     // how many objects were added to the queues
	queueRow  Row        // is of no object: it marks that the queues differ
	opened    int        // how many lists and watches were asked for
	moved     bool       // something was recorded, or held back, since the last look
	report    Report     // what is known of it
}

// New makes both queues. Run ends them.
func New(o Options) *Beside {
	b := &Beside{options: o, began: time.Now(), stores: map[string]cache.Store{}, moved: true}
	b.objects = map[Object]*history{}
	b.queues[Ours] = workqueue.New(workqueue.Options[Object]{})
	b.queues[ClientGo] = clientgo.NewTyped[Object]()
	return b
}

func (b *Beside) historyLocked(o Object) *history {
	if b.objects[o] == nil {
		b.objects[o] = &history{Object: o}
		b.histories = append(b.histories, b.objects[o])
	}
	return b.objects[o]
}

func (b *Beside) rowLocked(h *history, rv string, gone bool) *Row {
	for _, r := range slices.Backward(h.rows) {
		if r.RV == rv && r.Gone == gone {
			return r
		}
	}
	h.rows = append(h.rows[max(0, len(h.rows)+1-rowsMost):], &Row{RV: rv, Gone: gone, opened: b.opened})
	return h.rows[len(h.rows)-1]
}

// Opened records that a list or a watch is asked for.
func (b *Beside) Opened() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened++
}

// Record takes what is sent to a side, or told to its handler. What was sent with an error does not arrive.
func (b *Beside) Record(side int, e look.Event) {
	if e.At == look.Called && e.Action == "OnUpdate" && e.Old == e.RV {
		return // a resync
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moved, b.report.Quiet = true, false
	h := b.historyLocked(Object{e.Kind, e.Key})
	r := b.rowLocked(h, e.RV, e.Action == "DELETED" || e.Action == "OnDelete")
	if e.At == look.Called {
		b.calledLocked(side, h, r, Call{Name: e.Action, Tombstone: e.Tombstone, Old: e.Old, before: h.told[side]})
	} else if r.Sent[side] = e.Action; e.Error != "" {
		r.Sent[side], h.lost = "LOST", true
	}
}

func (b *Beside) calledLocked(side int, h *history, r *Row, call Call) {
	b.queues[side].Add(h.Object)
	b.report.Calls[side]++
	if h.told[side] = r.RV; r.Gone {
		h.told[side], call.Old = "", ""
	}
	if !h.queued[side] {
		h.queued[side] = true
		b.queued[side]++
	}
	r.Calls[side] = call
	other := r.Calls[1-side]
	switch {
	case r.Gone && call.before == "" || !r.Gone && call.before != call.Old: // OnAdd has no old version
		b.markLocked("order", h.Object, r)
	case other.Name != "" && other.before == call.before && other != call:
		b.markLocked("call", h.Object, r)
	}
}
