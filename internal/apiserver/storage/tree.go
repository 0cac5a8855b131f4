package storage

import (
	"hash/maphash"
	"iter"

	"glasswatch/internal/apiserver/resource"
)

// Tree is an immutable ordered map from keys to objects: a treap whose writes copy the path from the root and share the
// rest. The zero Tree is empty. Every revision in the history has its own Tree, so pages are consistent.
type Tree struct{ root *node }

type node struct {
	key         string
	obj         resource.Object
	priority    uint64 // Invariant: not lower than that of left and right
	size        int    // Invariant: 1 + size of left + size of right
	left, right *node
}

var seed = maphash.MakeSeed()

// Len is the number of objects, in constant time.
func (t Tree) Len() int { return t.root.len() }

// Get returns the object under key, or nil.
func (t Tree) Get(key string) resource.Object {
	n := t.root
	for n != nil {
		switch {
		case key < n.key:
			n = n.left
		case key > n.key:
			n = n.right
		default:
			return n.obj
		}
	}
	return nil
}

// With is the tree with obj under key.
func (t Tree) With(key string, obj resource.Object) Tree { return Tree{t.root.with(key, obj)} }

// Without is the tree without key.
func (t Tree) Without(key string) Tree { return Tree{t.root.without(key)} }

// Before counts the keys lower than key, in logarithmic time.
func (t Tree) Before(key string) int {
	count := 0
	for n := t.root; n != nil; {
		if n.key < key {
			count += n.left.len() + 1
			n = n.right
		} else {
			n = n.left
		}
	}
	return count
}

// Range yields the keys k with from <= k < to in order; to "" means no upper end.
func (t Tree) Range(from, to string) iter.Seq2[string, resource.Object] {
	return func(yield func(string, resource.Object) bool) { t.root.walk(from, to, yield) }
}

func (n *node) len() int {
	if n == nil {
		return 0
	}
	return n.size
}

func (n *node) walk(from, to string, yield func(string, resource.Object) bool) bool {
	if n == nil {
		return true
	}
	if from < n.key && !n.left.walk(from, to, yield) {
		return false
	}
	inside := to == "" || n.key < to
	if from <= n.key && inside && !yield(n.key, n.obj) {
		return false
	}
	return !inside || n.right.walk(from, to, yield)
}

func (n *node) with(key string, obj resource.Object) *node {
	if n == nil {
		return &node{key: key, obj: obj, priority: maphash.String(seed, key), size: 1}
	}
	c := *n
	switch {
	case key < n.key:
		c.left = n.left.with(key, obj)
		if l := c.left; l.priority > c.priority { // l was made by this call, so it may be changed
			c.left = l.right
			l.right = c.fixed()
			return l.fixed()
		}
	case key > n.key:
		c.right = n.right.with(key, obj)
		if r := c.right; r.priority > c.priority {
			c.right = r.left
			r.left = c.fixed()
			return r.fixed()
		}
	default:
		c.obj = obj
	}
	return c.fixed()
}

func (n *node) without(key string) *node {
	if n == nil {
		return nil
	}
	c := *n
	switch {
	case key < n.key:
		c.left = n.left.without(key)
	case key > n.key:
		c.right = n.right.without(key)
	default:
		return merge(n.left, n.right)
	}
	return c.fixed()
}

// merge joins two trees, every key of a being lower than every key of b.
func merge(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		c := *a
		c.right = merge(a.right, b)
		return c.fixed()
	default:
		c := *b
		c.left = merge(a, b.left)
		return c.fixed()
	}
}

// fixed recounts the size of a node that this write made, and returns it.
func (n *node) fixed() *node {
	n.size = 1 + n.left.len() + n.right.len()
	return n
}
