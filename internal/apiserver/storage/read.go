package storage

import (
	"sort"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Snapshot returns a table as it was at revision rev and the revision it shows; rev 0 means now. It fails with
// *ExpiredError or *FutureError.
func (s *Store) Snapshot(gr schema.GroupResource, rev int64) (Tree, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tableLocked(gr)
	switch {
	case rev == 0 || rev == s.revision:
		return t.tree, s.revision, nil
	case rev > s.revision:
		return Tree{}, 0, &FutureError{rev, s.revision}
	case rev < s.oldestLocked(t):
		return Tree{}, 0, &ExpiredError{rev, s.oldestLocked(t)}
	}
	if i := t.firstAfterLocked(rev); i > 0 {
		return t.history[i-1].after, rev, nil
	}
	return t.base, rev, nil // before the first event; after an event was trimmed, readers cannot begin so far back
}

// firstAfterLocked is the index of the first event of the history with a revision above rev.
func (t *table) firstAfterLocked(rev int64) int {
	return sort.Search(len(t.history), func(i int) bool { return t.history[i].Revision > rev })
}

// Watcher reads the writes of one table in order. It is not safe for concurrent use, and needs no closing.
type Watcher struct {
	store *Store
	table *table
	seen  int64 // all events of the table up to here have been delivered
}

// Watch returns a watcher of the writes after revision rev, which may be in the future: writes up to it are then not
// delivered. It fails with *ExpiredError.
func (s *Store) Watch(gr schema.GroupResource, rev int64) (*Watcher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tableLocked(gr)
	if oldest := s.oldestLocked(t); rev < oldest {
		return nil, &ExpiredError{rev, oldest}
	}
	return &Watcher{store: s, table: t, seen: rev}, nil
}

// SnapshotAndWatch returns the table as it is now, its revision, and a watcher of everything after it.
func (s *Store) SnapshotAndWatch(gr schema.GroupResource) (Tree, int64, *Watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tableLocked(gr)
	return t.tree, s.revision, &Watcher{store: s, table: t, seen: s.revision}
}

// Poll appends to dst what has not been delivered yet, at most about maximum events. When there is nothing it returns a
// channel that closes at the next write to the table. Revision is the point up to which the caller has seen every event
// of the table, those of this call included. A bookmark may carry it. Errors are ErrLagged and, once the events before
// the drop have been delivered, ErrDropped.
func (w *Watcher) Poll(dst []Event, maximum int) (events []Event, revision int64, changed <-chan struct{}, err error) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	t := w.table
	if w.seen < t.trimmed {
		return dst, w.seen, nil, ErrLagged
	}
	pending := t.history[t.firstAfterLocked(w.seen):]
	switch {
	case len(pending) > maximum:
		w.seen = pending[maximum-1].Revision
		return append(dst, pending[:maximum]...), w.seen, nil, nil
	case len(pending) > 0 && t.dropped: // later revisions are those of another table
		w.seen = pending[len(pending)-1].Revision
		return append(dst, pending...), w.seen, nil, nil
	case len(pending) > 0:
		dst = append(dst, pending...)
		w.seen = max(w.seen, w.store.revision)
		return dst, w.seen, nil, nil
	case t.dropped:
		return dst, w.seen, nil, ErrDropped
	}
	w.seen = max(w.seen, w.store.revision) // a future revision stays ahead
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return dst, w.seen, t.changed, nil
}
