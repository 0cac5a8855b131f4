package beside

import (
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	seen    uint64    // when it was recorded first
}

// history of an object.
type history struct {
	rows []*Row    // the newest rowsMost, in the order in which they were seen first
	told [2]string // the versions that the handlers were told of last, "" if there is no object
	lost bool      // an event was, and the stores have not agreed since
	seen uint64    // when something was recorded last
}

const rowsMost = 100

func (h *history) row(rv string, gone bool) *Row {
	for _, r := range slices.Backward(h.rows) {
		if r.RV == rv && r.Gone == gone {
			return r
		}
	}
	h.rows = append(h.rows[max(0, len(h.rows)+1-rowsMost):], &Row{RV: rv, Gone: gone, seen: h.seen})
	return h.rows[len(h.rows)-1]
}

// Beside records and compares. Its methods are safe for concurrent use.
type Beside struct {
	options Options
	began   time.Time
	stores  map[string]cache.Store // client-go's, by kind
	queues  [2]interface {
		Add(o Object)
		Len() int
		ShutDown()
	}

	mu       sync.Mutex // protects what follows
	objects  map[Object]*history
	queued   [2]map[Object]bool // what was added to the queues
	queueRow Row                // is of no object: it marks that the queues differ
	seen     uint64             // counts what was recorded
	opened   uint64             // seen, when a list or watch was asked for last
	report   Report             // what is known of it
}

// New makes both queues. Run ends them.
func New(o Options) *Beside {
	b := &Beside{options: o, began: time.Now(), stores: map[string]cache.Store{}, objects: map[Object]*history{}}
	b.queued = [2]map[Object]bool{{}, {}}
	b.queues[Ours] = workqueue.New(workqueue.Options[Object]{})
	b.queues[ClientGo] = clientgo.NewTyped[Object]()
	return b
}

func (b *Beside) historyLocked(o Object) *history {
	b.seen++
	b.report.Quiet = false
	if b.objects[o] == nil {
		b.objects[o] = &history{}
	}
	b.objects[o].seen = b.seen
	return b.objects[o]
}

// Opened records that a list or a watch is asked for.
func (b *Beside) Opened() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = b.seen
}

// Sent records a frame of a watch. With lost it does not arrive.
func (b *Beside) Sent(side int, o Object, event, rv string, lost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.historyLocked(o)
	r := h.row(rv, event == "DELETED")
	if r.Sent[side] = event; lost {
		r.Sent[side], h.lost = "LOST", true
	}
}

// called records a call of a handler on an object of a kind.
func (b *Beside) called(side int, kind string, obj metav1.Object, call Call) {
	defer b.options.Before()
	o, rv := Object{kind, cache.MetaObjectToName(obj).String()}, obj.GetResourceVersion()
	if call.Name == "OnUpdate" && call.Old == rv {
		return
	}
	b.queues[side].Add(o)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queued[side][o] = true
	h, gone := b.historyLocked(o), call.Name == "OnDelete"
	if call.before = h.told[side]; gone {
		h.told[side] = ""
	} else {
		h.told[side] = rv
	}
	r := h.row(rv, gone)
	r.Calls[side] = call
	b.report.Calls[side]++
	other := r.Calls[1-side]
	switch {
	case gone && call.before == "" || !gone && call.before != call.Old: // OnAdd has no old version
		b.markLocked("order", o, r)
	case other.Name != "" && other.before == call.before && other != call:
		b.markLocked("call", o, r)
	}
}
