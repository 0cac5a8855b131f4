package storage

import "k8s.io/apimachinery/pkg/runtime/schema"

// Backup is what a store held at one revision. It costs nothing but the memory of objects that the store no longer has.
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

// Restore makes the store what it was at b: all objects, and the revision, so that the next writes take numbers that were
// given before. What came after b never was. Running watchers end with ErrDropped, and nobody may ask for a revision before
// b's.
func (s *Store) Restore(b Backup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables {
		t.dropped = true
		t.wakeLocked()
	}
	s.tables = map[schema.GroupResource]*table{}
	for gr, tree := range b.trees {
		s.tables[gr] = &table{tree: tree, base: tree}
	}
	s.revision, s.compacted = b.revision, b.revision
}
