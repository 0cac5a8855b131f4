package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/internal/apiserver/resource"
)

var (
	// ErrExists: Create found an object under the key.
	ErrExists = errors.New("storage: key exists")
	// ErrConflict: Update or Delete found another object under the key than the caller had read, or none.
	ErrConflict = errors.New("storage: the object has changed")
	// ErrLagged: a watcher fell behind the end of the history.
	ErrLagged = errors.New("storage: watcher is too slow")
	// ErrDropped: the watcher's table is no more.
	ErrDropped = errors.New("storage: table dropped")
)

// ExpiredError says that a revision is older than what the history can give back.
type ExpiredError struct{ Requested, Oldest int64 }

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("storage: revision %d is gone, the oldest is %d", e.Requested, e.Oldest)
}

// FutureError says that a revision does not exist yet.
type FutureError struct{ Requested, Current int64 }

func (e *FutureError) Error() string {
	return fmt.Sprintf("storage: revision %d is in the future, now is %d", e.Requested, e.Current)
}

// Type says what a write did.
type Type uint8

// The three kinds of writes.
const (
	Added Type = iota
	Modified
	Deleted
)

// Event is one write.
type Event struct {
	Type     Type
	Revision int64
	Key      string
	Object   resource.Object // of a Deleted: the last state, stamped with the revision of the deletion
	Previous resource.Object // what the write replaced; nil for Added

	after Tree // the table right after the write
}

// lagAllowance is how many events beyond HistoryLimit are kept for connected watchers. The limit is for new watches. A
// test may set it to zero, and must not lose its running watches.
const lagAllowance = 4096

// Store holds all tables. Its methods may be called from any goroutine and never block on watchers.
type Store struct {
	limit int // events per table that a new watch or an exact list may go back

	mu       sync.Mutex // protects all below, the tables' fields and the watchers' positions
	revision int64
	// compacted is the revision of the last Compact; older ones are not available.
	compacted int64
	tables    map[schema.GroupResource]*table
	advanced  chan struct{} // closed and replaced when revision rises; nil without waiters
}

type table struct {
	tree    Tree
	base    Tree          // before the first event, in a store that was restored
	history []Event       // Invariant: ascending revisions, all above trimmed
	trimmed int64         // revision of the newest event that is no longer in history; 0 if none
	begin   int64         // older revisions are not available: a table of that name was dropped at that revision
	changed chan struct{} // closed at the next event; nil without waiters
	dropped bool          // no more writes will come
}

// New returns an empty store at revision 1. historyLimit is the number of events per table that can be replayed.
func New(historyLimit int) *Store {
	return &Store{limit: historyLimit, revision: 1, tables: map[schema.GroupResource]*table{}}
}

// Revision is that of the last write.
func (s *Store) Revision() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Get returns the newest object under key, or nil.
func (s *Store) Get(gr schema.GroupResource, key string) resource.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tableLocked(gr).tree.Get(key)
}

// Create stores obj, stamping its resourceVersion. obj belongs to the store from then on. ErrExists if the key is taken.
func (s *Store) Create(gr schema.GroupResource, key string, obj resource.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tableLocked(gr)
	if t.tree.Get(key) != nil {
		return ErrExists
	}
	s.commitLocked(t, Event{Type: Added, Key: key, Object: obj, after: t.tree.With(key, obj)})
	return nil
}

// Update replaces old, which must be the stored object itself, by obj. ErrConflict if it is not.
func (s *Store) Update(gr schema.GroupResource, key string, old, obj resource.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tableLocked(gr)
	if t.tree.Get(key) != old || old == nil {
		return ErrConflict
	}
	s.commitLocked(t, Event{Type: Modified, Key: key, Object: obj, Previous: old, after: t.tree.With(key, obj)})
	return nil
}

// Delete removes old, which must be the stored object itself. Watchers get final as its last state: a copy with the
// revision of the deletion. ErrConflict if another object is stored.
func (s *Store) Delete(gr schema.GroupResource, key string, old, final resource.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tableLocked(gr)
	if t.tree.Get(key) != old || old == nil {
		return ErrConflict
	}
	s.commitLocked(t, Event{Type: Deleted, Key: key, Object: final, Previous: old, after: t.tree.Without(key)})
	return nil
}

// Drop forgets a table, history and all. Its watchers get what was written before, and end with ErrDropped.
func (s *Store) Drop(gr schema.GroupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tables[gr]; ok {
		t.dropped = true
		t.wakeLocked()
		s.tables[gr] = &table{begin: s.revision}
	}
}

// Compact makes every revision before the current one unavailable to new readers. Running watchers go on.
func (s *Store) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = s.revision
}

// CompactTo makes every revision before rev unavailable to new readers, as Compact does. A later revision than the current one counts
// as the current one.
func (s *Store) CompactTo(rev int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = max(s.compacted, min(rev, s.revision))
}

// WaitFor blocks until the revision is at least rev or ctx is done, and tells whether it is.
func (s *Store) WaitFor(ctx context.Context, rev int64) bool {
	for {
		s.mu.Lock()
		if s.revision >= rev {
			s.mu.Unlock()
			return true
		}
		if s.advanced == nil {
			s.advanced = make(chan struct{})
		}
		advanced := s.advanced
		s.mu.Unlock()
		select {
		case <-advanced:
		case <-ctx.Done():
			return false
		}
	}
}

func (s *Store) tableLocked(gr schema.GroupResource) *table {
	t := s.tables[gr]
	if t == nil {
		t = &table{}
		s.tables[gr] = t
	}
	return t
}

func (s *Store) commitLocked(t *table, e Event) {
	s.revision++
	e.Revision = s.revision
	e.Object.SetResourceVersion(strconv.FormatInt(e.Revision, 10))
	t.tree = e.after
	t.history = append(t.history, e)
	if len(t.history) > s.limit+lagAllowance {
		t.trimmed = t.history[0].Revision
		t.history[0] = Event{} // the array lives on for a while, but its events can be freed
		t.history = t.history[1:]
	}
	t.wakeLocked()
	if s.advanced != nil {
		close(s.advanced)
		s.advanced = nil
	}
}

func (t *table) wakeLocked() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// oldestLocked is the lowest revision that a new reader may ask for.
func (s *Store) oldestLocked(t *table) int64 {
	oldest := max(s.compacted, t.begin, t.trimmed)
	if n := len(t.history) - s.limit; n > 0 {
		oldest = max(oldest, t.history[n-1].Revision)
	}
	return oldest
}
