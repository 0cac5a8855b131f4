package beside

import (
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	clientgo "k8s.io/client-go/util/workqueue"

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

// Version of an object. The zero value is none: there was no object yet.
type Version struct {
	RV   string `json:"rv"`
	Gone bool   `json:"gone,omitempty"` // RV is that of the deletion, or for a tombstone the last that was known
}

// there is the resourceVersion, or "" if there is no object.
func (v Version) there() string {
	if v.Gone {
		return ""
	}
	return v.RV
}

// Call is one of a handler. The zero value is none.
type Call struct {
	Name      string `json:"name,omitempty"` // OnAdd, OnUpdate, OnDelete
	Old       string `json:"old,omitempty"`
	Tombstone bool   `json:"tombstone,omitempty"`
	before    string // the version that the handler was told of before, "" if there was no object
}

func (c Call) follows() bool {
	switch c.Name {
	case "OnAdd":
		return c.before == ""
	case "OnUpdate":
		return c.before == c.Old
	default:
		return c.before != ""
	}
}

// Row is what both sides saw of a version. Of lists in pages nothing is known to be sent.
type Row struct {
	Version
	Sent    [2]string `json:"sent"` // ADDED, MODIFIED, DELETED, or LOST on the way
	Calls   [2]Call   `json:"calls"`
	Differs string    `json:"differs,omitempty"` // doc.go has the words
}

// history of an object.
type history struct {
	rows []*Row     // the newest rowsMost, in the order in which they were seen first
	told [2]Version // what the handlers were told of last
	lost bool       // an event was, and the stores have not agreed since
	seen uint64     // when something was recorded last
}

const rowsMost = 100

func (h *history) row(v Version) *Row {
	for _, r := range slices.Backward(h.rows) {
		if r.Version == v {
			return r
		}
	}
	h.rows = append(h.rows[max(0, len(h.rows)+1-rowsMost):], &Row{Version: v})
	return h.rows[len(h.rows)-1]
}

// Beside records and compares. Its methods are safe for concurrent use.
type Beside struct {
	options Options
	began   time.Time
	theirs  map[string]cache.Store // client-go's, by kind
	stores  [2]func() map[Object]string
	queues  [2]interface {
		Add(o Object)
		Len() int
		ShutDown()
	}

	mu           sync.Mutex // protects what follows
	objects      map[Object]*history
	seen         uint64 // counts what was recorded
	counts       Counts
	first        *Difference
	queuesDiffer string // "queue" if so
}

// New makes both queues. Run ends them.
func New(o Options) *Beside {
	b := &Beside{options: o, began: time.Now(), objects: map[Object]*history{}, theirs: map[string]cache.Store{}}
	b.stores = [2]func() map[Object]string{o.Store, b.clientGoStore}
	b.queues[Ours] = workqueue.New(workqueue.Options[Object]{})
	b.queues[ClientGo] = clientgo.NewTyped[Object]()
	return b
}

func (b *Beside) historyLocked(o Object) *history {
	b.seen++
	b.counts.Quiet = false
	if b.objects[o] == nil {
		b.objects[o] = &history{}
	}
	b.objects[o].seen = b.seen
	return b.objects[o]
}

// Sent records a frame of a watch. With lost it does not arrive.
func (b *Beside) Sent(side int, o Object, event, rv string, lost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.historyLocked(o)
	r := h.row(Version{rv, event == "DELETED"})
	if r.Sent[side] = event; lost {
		r.Sent[side], h.lost = "LOST", true
	}
}

// called records a call of a handler.
func (b *Beside) called(side int, o Object, v Version, call Call) {
	defer b.options.Before()
	if call.Name == "OnUpdate" && call.Old == v.RV {
		return
	}
	b.queues[side].Add(o)
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.historyLocked(o)
	b.counts.Calls[side]++
	call.before = h.told[side].there()
	h.told[side] = v
	r := h.row(v)
	r.Calls[side] = call
	other := r.Calls[1-side]
	switch {
	case !call.follows():
		b.markLocked(&r.Differs, "order", o, v)
	case other.Name != "" && other.before == call.before && other != call:
		b.markLocked(&r.Differs, "call", o, v)
	}
}
