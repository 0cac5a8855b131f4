package storage

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// checkInvariants fails the test if what the comments on the fields promise does not hold.
func (s *Store) checkInvariants(t *rapid.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for gr, table := range s.tables {
		table.tree.checkInvariants(t)
		last := table.trimmed
		for _, e := range table.history {
			if e.Revision <= last || e.Revision > s.revision {
				t.Fatalf("%v: revision %d follows %d, now is %d", gr, e.Revision, last, s.revision)
			}
			last = e.Revision
		}
		if n := len(table.history); n > s.limit+lagAllowance {
			t.Fatalf("%v: history of %d events, limit %d", gr, n, s.limit)
		}
		if n := len(table.history); n > 0 && table.history[n-1].after != table.tree {
			t.Fatalf("%v: the newest event does not lead to the newest tree", gr)
		}
	}
}

func (t Tree) checkInvariants(rt *rapid.T) {
	var keys []string
	var walk func(n *node) int
	walk = func(n *node) int {
		if n == nil {
			return 0
		}
		size := 1 + walk(n.left)
		keys = append(keys, n.key)
		size += walk(n.right)
		for _, child := range []*node{n.left, n.right} {
			if child != nil && child.priority > n.priority {
				rt.Fatalf("the heap is upside down at %q", n.key)
			}
		}
		if n.size != size {
			rt.Fatalf("size of %q is %d, want %d", n.key, n.size, size)
		}
		return size
	}
	walk(t.root)
	if !slices.IsSorted(keys) {
		rt.Fatal(fmt.Sprint("keys are not sorted: ", keys))
	}
}
