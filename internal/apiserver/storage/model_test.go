package storage

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"glasswatch/internal/apiserver/resource"
)

var (
	pods     = schema.GroupResource{Resource: "pods"}
	services = schema.GroupResource{Resource: "services"}
)

// picture is one table at one revision: the resourceVersion of each key.
type picture map[string]string

// model is a store that remembers everything and copies all of it at each write.
type model struct {
	store     *Store
	revision  int64
	now       map[schema.GroupResource]picture
	past      map[int64]map[schema.GroupResource]picture
	writes    map[schema.GroupResource][]Event
	compacted int64
	begun     map[schema.GroupResource]int64 // when the table was dropped
	watchers  []*replay
	backups   []remembered
}

// remembered is a backup and what the model knew when it was made.
type remembered struct {
	backup   Backup
	revision int64
	tables   map[schema.GroupResource]picture
}

// replay applies what a Watcher delivers to the picture it started from.
type replay struct {
	gr      schema.GroupResource
	watcher *Watcher
	state   picture
	last    int64
	dropped bool
	final   picture // that it must reach before it ends; nil if the writes were forgotten
}

func newModel(limit int) *model {
	m := &model{store: New(limit), revision: 1, begun: map[schema.GroupResource]int64{}, now: map[schema.GroupResource]picture{pods: {}, services: {}},
		past: map[int64]map[schema.GroupResource]picture{}, writes: map[schema.GroupResource][]Event{}}
	for gr := range m.now {
		m.store.Get(gr, "") // makes the table
	}
	m.remember()
	return m
}

func (m *model) remember() { m.past[m.revision] = cloned(m.now) }

func cloned(tables map[schema.GroupResource]picture) map[schema.GroupResource]picture {
	copied := map[schema.GroupResource]picture{}
	for gr, p := range tables {
		copied[gr] = maps.Clone(p)
	}
	return copied
}

func (m *model) wrote(gr schema.GroupResource, e Event) {
	m.revision++
	e.Revision = m.revision
	m.writes[gr] = append(m.writes[gr], e)
	if e.Type == Deleted {
		delete(m.now[gr], e.Key)
	} else {
		m.now[gr][e.Key] = strconv.FormatInt(m.revision, 10)
	}
	m.remember()
}

// oldest is what a reader may ask for at least.
func (m *model) oldest(gr schema.GroupResource) int64 {
	oldest := max(m.compacted, m.begun[gr])
	if n := len(m.writes[gr]) - m.store.limit; n > 0 {
		oldest = max(oldest, m.writes[gr][n-1].Revision)
	}
	return oldest
}

func object() resource.Object {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{}}
}

func paint(t Tree, from, to string) picture {
	p := picture{}
	for key, obj := range t.Range(from, to) {
		p[key] = obj.GetResourceVersion()
	}
	return p
}

var (
	tables = rapid.SampledFrom([]schema.GroupResource{pods, services})
	keys   = rapid.SampledFrom([]string{"a/1", "a/2", "a/3", "a-b/1", "a0/1", "b/1", "b/2", "c"})
)

func (m *model) Create(t *rapid.T) {
	gr, key := tables.Draw(t, "table"), keys.Draw(t, "key")
	err := m.store.Create(gr, key, object())
	if _, taken := m.now[gr][key]; taken != errors.Is(err, ErrExists) {
		t.Fatalf("taken %v, but %v", taken, err)
	} else if !taken {
		m.wrote(gr, Event{Type: Added, Key: key})
	}
}

func (m *model) Update(t *rapid.T) {
	gr, key := tables.Draw(t, "table"), keys.Draw(t, "key")
	old := m.store.Get(gr, key)
	if rapid.Bool().Draw(t, "stale") {
		old = object()
	}
	_, there := m.now[gr][key]
	fits := there && old == m.store.Get(gr, key)
	err := m.store.Update(gr, key, old, object())
	if fits == errors.Is(err, ErrConflict) {
		t.Fatalf("fits %v, but %v", fits, err)
	} else if fits {
		m.wrote(gr, Event{Type: Modified, Key: key})
	}
}

func (m *model) Delete(t *rapid.T) {
	gr, key := tables.Draw(t, "table"), keys.Draw(t, "key")
	old := m.store.Get(gr, key)
	_, there := m.now[gr][key]
	err := m.store.Delete(gr, key, old, object())
	if there == errors.Is(err, ErrConflict) {
		t.Fatalf("there %v, but %v", there, err)
	} else if there {
		m.wrote(gr, Event{Type: Deleted, Key: key})
	}
}

func (m *model) Compact(t *rapid.T) {
	m.store.Compact()
	m.compacted = m.revision
}

func (m *model) Drop(t *rapid.T) {
	gr := tables.Draw(t, "table")
	m.store.Drop(gr)
	m.drop(gr, m.now[gr])
	m.now[gr], m.writes[gr], m.begun[gr] = picture{}, nil, m.revision
	m.remember()
}

// After drop the watchers of the table must reach final, and end.
func (m *model) drop(gr schema.GroupResource, final picture) {
	for _, r := range m.watchers {
		if r.gr == gr && !r.dropped {
			r.dropped, r.final = true, maps.Clone(final)
		}
	}
}

func (m *model) Backup(*rapid.T) {
	m.backups = append(m.backups, remembered{m.store.Backup(), m.revision, cloned(m.now)})
}

func (m *model) Restore(t *rapid.T) {
	if len(m.backups) == 0 {
		t.Skip("there is no backup")
	}
	b := rapid.SampledFrom(m.backups).Draw(t, "backup")
	m.store.Restore(b.backup)
	m.revision, m.compacted, m.now = b.revision, b.revision, cloned(b.tables)
	clear(m.writes)
	clear(m.begun)
	m.remember()
	for gr := range m.now {
		m.drop(gr, nil)
	}
}

func (m *model) WaitFor(t *rapid.T) {
	rev := rapid.Int64Range(0, m.revision+2).Draw(t, "revision")
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if there := m.store.WaitFor(gone, rev); there != (rev <= m.revision) {
		t.Fatalf("revision %d of %d: %v", rev, m.revision, there)
	}
}

func (m *model) Snapshot(t *rapid.T) {
	gr := tables.Draw(t, "table")
	rev := rapid.Int64Range(1, m.revision+2).Draw(t, "revision")
	tree, got, err := m.store.Snapshot(gr, rev)
	var future *FutureError
	var expired *ExpiredError
	switch {
	case rev > m.revision:
		if !errors.As(err, &future) {
			t.Fatalf("revision %d of %d: %v", rev, m.revision, err)
		}
	case rev < m.oldest(gr) && rev != m.revision:
		if !errors.As(err, &expired) || expired.Oldest != m.oldest(gr) {
			t.Fatalf("revision %d, oldest %d: %v", rev, m.oldest(gr), err)
		}
	default:
		want := m.past[rev][gr]
		if err != nil || got != rev || !maps.Equal(paint(tree, "", ""), want) || tree.Len() != len(want) {
			t.Fatalf("revision %d: %v (%d) %v, want %v", rev, paint(tree, "", ""), got, err, want)
		}
		m.checkRange(t, tree, want)
	}
}

func (m *model) checkRange(t *rapid.T, tree Tree, all picture) {
	from, to := keys.Draw(t, "from"), rapid.SampledFrom([]string{"", "a/2", "a0", "b0", "zz"}).Draw(t, "to")
	want, before := picture{}, 0
	for key, rv := range all {
		if key >= from && (to == "" || key < to) {
			want[key] = rv
		}
		if key < from {
			before++
		}
		if got := tree.Get(key); got == nil || got.GetResourceVersion() != rv {
			t.Fatalf("Get(%q) = %v, want version %s", key, got, rv)
		}
	}
	if !maps.Equal(paint(tree, from, to), want) || tree.Before(from) != before {
		t.Fatalf("[%q, %q): %v, want %v", from, to, paint(tree, from, to), want)
	}
	var order []string
	for key := range tree.Range("", "") {
		order = append(order, key)
	}
	if !slices.Equal(order, slices.Sorted(maps.Keys(all))) {
		t.Fatalf("order %v", order)
	}
}

func (m *model) Watch(t *rapid.T) {
	gr := tables.Draw(t, "table")
	rev := rapid.Int64Range(1, m.revision).Draw(t, "revision")
	w, err := m.store.Watch(gr, rev)
	if rev < m.oldest(gr) {
		var expired *ExpiredError
		if !errors.As(err, &expired) {
			t.Fatalf("revision %d, oldest %d: %v", rev, m.oldest(gr), err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.watchers = append(m.watchers, &replay{gr: gr, watcher: w, state: maps.Clone(m.past[rev][gr]), last: rev})
}

func (m *model) SnapshotAndWatch(t *rapid.T) {
	gr := tables.Draw(t, "table")
	tree, rev, w := m.store.SnapshotAndWatch(gr)
	if rev != m.revision || !maps.Equal(paint(tree, "", ""), m.now[gr]) {
		t.Fatalf("picture of %d at %d", rev, m.revision)
	}
	m.watchers = append(m.watchers, &replay{gr: gr, watcher: w, state: paint(tree, "", ""), last: rev})
}

func (m *model) Poll(t *rapid.T) {
	if len(m.watchers) == 0 {
		t.Skip("nobody watches")
	}
	r := rapid.SampledFrom(m.watchers).Draw(t, "watcher")
	events, seen, changed, err := r.watcher.Poll(nil, rapid.IntRange(1, 3).Draw(t, "batch"))
	mayEnd := r.dropped && errors.Is(err, ErrDropped)
	mustEnd := r.dropped && len(events) == 0
	if err != nil && !mayEnd || err == nil && mustEnd {
		t.Fatalf("dropped %v, but %v with %d events", r.dropped, err, len(events))
	}
	if err != nil {
		if r.final != nil && !maps.Equal(r.state, r.final) {
			t.Fatalf("replayed until the drop: %v, want %v", r.state, r.final)
		}
		m.watchers = slices.DeleteFunc(m.watchers, func(other *replay) bool { return other == r })
		return
	}
	for _, e := range events {
		if e.Revision <= r.last || e.Revision > seen {
			t.Fatalf("revision %d after %d, seen %d", e.Revision, r.last, seen)
		}
		r.last = e.Revision
		_, known := r.state[e.Key]
		if known != (e.Type != Added) || known != (e.Previous != nil) {
			t.Fatalf("%v of %q, which is known: %v", e.Type, e.Key, known)
		}
		if known && e.Previous.GetResourceVersion() != r.state[e.Key] {
			t.Fatalf("previous %s, want %s", e.Previous.GetResourceVersion(), r.state[e.Key])
		}
		if e.Object.GetResourceVersion() != strconv.FormatInt(e.Revision, 10) {
			t.Fatalf("event %d carries version %s", e.Revision, e.Object.GetResourceVersion())
		}
		if e.Type == Deleted {
			delete(r.state, e.Key)
		} else {
			r.state[e.Key] = e.Object.GetResourceVersion()
		}
	}
	if r.dropped {
		return
	}
	if !maps.Equal(r.state, m.past[seen][r.gr]) {
		t.Fatalf("replayed up to %d: %v, want %v", seen, r.state, m.past[seen][r.gr])
	}
	if (changed != nil) != (len(events) == 0) || (changed != nil && seen != m.revision) {
		t.Fatalf("%d events, seen %d of %d, channel %v", len(events), seen, m.revision, changed)
	}
}

func (m *model) check(t *rapid.T) {
	if m.store.Revision() != m.revision {
		t.Fatalf("revision %d, want %d", m.store.Revision(), m.revision)
	}
	m.store.checkInvariants(t)
}

func TestStore_AgreesWithAStoreThatRemembersEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(rapid.IntRange(0, 12).Draw(t, "history limit"))
		t.Repeat(map[string]func(*rapid.T){
			"create": m.Create, "update": m.Update, "delete": m.Delete, "compact": m.Compact,
			"drop": m.Drop, "backup": m.Backup, "restore": m.Restore, "waitFor": m.WaitFor,
			"snapshot": m.Snapshot, "watch": m.Watch, "snapshotAndWatch": m.SnapshotAndWatch, "poll": m.Poll,
			"": m.check,
		})
	})
}
