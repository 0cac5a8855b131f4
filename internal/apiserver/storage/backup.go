package storage

import "k8s.io/apimachinery/pkg/runtime/schema"

// Backup is the content of a store at one revision. It costs only the memory of objects that the store no longer has.
type Backup struct {
	revision int64
	trees    map[schema.GroupResource]Tree
}

// Backup returns what the store holds now.
func (s *Store) Backup() Backup {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := Backup{revision: s.revision, trees: map[schema.GroupResource]Tree{}}
	for gr, t := range s.tables {
		b.trees[gr] = t.tree
	}
	return b
}

// Restore sets the store back to b: all objects, and the revision, so that the next writes reuse numbers. The writes
// after b are forgotten. Running watchers end with ErrDropped at once. Revisions before b's are not available.
func (s *Store) Restore(b Backup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables {
		t.dropped = true
		t.history = nil
		t.wakeLocked()
	}
	s.tables = map[schema.GroupResource]*table{}
	for gr, tree := range b.trees {
		s.tables[gr] = &table{tree: tree, base: tree}
	}
	s.revision, s.compacted = b.revision, b.revision
}

// Trees are the tables of the backup.
func (b Backup) Trees() map[schema.GroupResource]Tree { return b.trees }
