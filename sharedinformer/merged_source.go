package sharedinformer

import (
	"container/heap"
	"context"
	"errors"

	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// source is a Source that is merged: the sink of its reflector. The merge's lock protects it.
type source[T object] struct {
	Source[T]
	merge     *merge[T]
	reflector *reflector.Reflector[T] // nil before it is started
	cancel    context.CancelFunc

	gone   bool // it was removed: what still comes is ignored
	listed bool
	// version is how far it has been read: of every object it has said all up to here.
	version string
	// setBackFrom is how far any source had come, the greatest if more than once, when a list set version back; "" if none has.
	setBackFrom string
	objects     int
	// doubts are the deletions that wait for version to reach theirs, the lowest first.
	doubts doubtHeap[T]
}

// covers reports whether the source might have the object.
func (s *source[T]) covers(k key) bool { return s.Namespace == "" || s.Namespace == k.Namespace }

// past reports whether the source has said all up to version.
func (s *source[T]) past(version string) bool {
	return !comparableVersion(s.version) || order(s.version, version) >= 0
}

// Add and its like implement reflector.Sink. Their errors are the queue's.
func (s *source[T]) Add(obj T) error { return s.put(obj) }

func (s *source[T]) Update(obj T) error { return s.put(obj) }

func (s *source[T]) put(obj T) error {
	return s.event(obj.GetResourceVersion(), func(m *merge[T]) error {
		k := listwatch.KeyOf(obj)
		e := m.entryLocked(k)
		e.put(s, obj, "")
		return m.settleLocked(k, e)
	})
}

func (s *source[T]) Delete(obj T) error {
	return s.event(obj.GetResourceVersion(), func(m *merge[T]) error {
		k := listwatch.KeyOf(obj)
		e := m.entryLocked(k)
		e.drop(s)
		if v := obj.GetResourceVersion(); e.deletedAt(v) || v != "" && v == e.deleted && !e.hasLast {
			e.last, e.hasLast = obj, true
		}
		return m.settleLocked(k, e)
	})
}

func (s *source[T]) DeleteKey(k key) error {
	return s.event("", func(m *merge[T]) error {
		e := m.entryLocked(k)
		e.drop(s)
		return m.settleLocked(k, e)
	})
}

func (s *source[T]) Bookmark(version string) error {
	return s.event(version, func(m *merge[T]) error {
		m.wake() // bookmarks are rare: the store's version may follow
		return nil
	})
}

// Resync is not called: the merge does that for all.
func (s *source[T]) Resync() error { return nil }

// event does what a watch has said, at version, and then settles what waited for the source to get there.
func (s *source[T]) event(version string, do func(m *merge[T]) error) error {
	m := s.merge
	m.mu.Lock()
	defer m.unlock()
	if s.gone {
		return nil
	}
	if order(version, s.version) > 0 {
		s.version = version
	}
	err := do(m)
	m.clearDoubtsLocked(s)
	if m.wanted() {
		m.tellVersionLocked()
	}
	return err
}

// Replace makes the list all that the source has.
func (s *source[T]) Replace(objs []T, keep []key, version string) error {
	m := s.merge
	m.mu.Lock()
	defer m.unlock()
	if s.gone {
		return nil
	}
	setBack := s.listed && comparableVersion(version) && order(version, s.version) < 0
	if setBack { // the history that was left went as far as the source that had come furthest
		for _, other := range m.sources {
			if comparableVersion(other.version) && order(other.version, s.setBackFrom) > 0 {
				s.setBackFrom = other.version
			}
		}
	}
	s.listed, s.version = true, version
	present := make(map[key]struct{}, len(objs)+len(keep))
	for _, obj := range objs {
		k := listwatch.KeyOf(obj)
		present[k] = struct{}{}
		m.entryLocked(k).put(s, obj, version)
	}
	for _, k := range keep {
		present[k] = struct{}{}
		m.entryLocked(k).keep(s)
	}
	errs := []error{m.absentLocked(s, present, version)}
	for _, obj := range objs {
		k := listwatch.KeyOf(obj)
		errs = append(errs, m.settleLocked(k, m.entries[k]))
	}
	if setBack {
		errs = append(errs, m.reconsiderLocked())
	}
	m.clearDoubtsLocked(s)
	m.syncLocked()
	m.tellVersionLocked()
	return errors.Join(errs...)
}

// doubt is an entry that waits for a source to reach a version.
type doubt[T object] struct {
	version string
	key     key
	entry   *mergedEntry[T]
}

// doubtHeap is a heap.Interface.
type doubtHeap[T object] []doubt[T]

func (h doubtHeap[T]) Len() int           { return len(h) }
func (h doubtHeap[T]) Less(a, b int) bool { return order(h[a].version, h[b].version) < 0 }
func (h doubtHeap[T]) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *doubtHeap[T]) Push(x any)        { *h = append(*h, x.(doubt[T])) }
func (h *doubtHeap[T]) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	(*h)[last] = doubt[T]{}
	*h = (*h)[:last]
	return d
}

// clearDoubtsLocked settles what waited for s to come as far as it has.
func (m *merge[T]) clearDoubtsLocked(s *source[T]) {
	for len(s.doubts) > 0 && s.past(s.doubts[0].version) {
		d := heap.Pop(&s.doubts).(doubt[T])
		if d.entry.among == s && d.entry.doubtAt == d.version {
			d.entry.among = nil
		}
		if d.entry.waitsFor == s {
			d.entry.waitsFor = nil
			m.settleLocked(d.key, d.entry)
		}
	}
}
