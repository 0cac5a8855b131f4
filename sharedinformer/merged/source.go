package merged

import (
	"context"
	"slices"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// source is a Source that is merged: the sink of its reflector. The merge's lock protects it.
type source[T listwatch.Object] struct {
	Source[T]
	merge     *merge[T]
	reflector *reflector.Reflector[T] // nil before it is started
	cancel    context.CancelFunc

	gone  bool // it was removed: what still comes is ignored
	lists int  // how often it has listed
	// point is how far it has been read: of every object it has said everything up to here.
	point
	objects int
}

// covers reports whether the source might have the object.
func (s *source[T]) covers(k key) bool { return s.Namespace == "" || s.Namespace == k.Namespace }

// Add and its like implement reflector.Sink. Their errors are the Transform's: the queue has none for objects with
// keys.
func (s *source[T]) Add(obj T) error { return s.Update(obj) }

// Update notes that the source has obj.
func (s *source[T]) Update(obj T) error {
	k, version := listwatch.KeyOf(obj), obj.GetResourceVersion()
	out, failed := s.merge.transform(obj)
	s.event(k, version, func(e *entry[T]) { e.put(s, out) })
	return failed
}

// Delete notes that the source has obj no more.
func (s *source[T]) Delete(obj T) error {
	k, version := listwatch.KeyOf(obj), obj.GetResourceVersion()
	out, failed := s.merge.transform(obj)
	s.event(k, version, func(e *entry[T]) {
		e.drop(s)
		if e.loseAt(point{s.history, version}) && out != nil {
			e.final = out
		}
	})
	return failed
}

// DeleteKey notes that the source has the object no more.
func (s *source[T]) DeleteKey(k key) error {
	s.event(k, "", func(e *entry[T]) { e.drop(s) })
	return nil
}

// event changes an entry as a watch has said, and settles it. What else waits for the source is rechecked with the
// next bookmark: a walk for each event would cost too much.
func (s *source[T]) event(k key, version string, change func(e *entry[T])) {
	m := s.merge
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.gone {
		return
	}
	s.reachLocked(version)
	e := m.entryLocked(k)
	change(e)
	m.settleLocked(e)
	if m.joining || !m.waiters.isEmpty() {
		m.tellVersionLocked()
	}
}

// Bookmark notes how far the source has come.
func (s *source[T]) Bookmark(version string) error {
	m := s.merge
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.gone {
		return nil
	}
	s.reachLocked(version)
	m.recheckLocked()
	m.tellVersionLocked()
	return nil
}

func (s *source[T]) reachLocked(version string) {
	if order(version, s.version) > 0 {
		s.version = version
	}
}

// Replace makes the list all that the source has.
func (s *source[T]) Replace(objs []T, keep []key, version string) error {
	m := s.merge
	said := make(map[key]*T, len(objs)+len(keep)) // nil could not be read
	for _, k := range keep {
		said[k] = nil
	}
	for _, obj := range objs {
		k := listwatch.KeyOf(obj)
		out, err := m.transform(obj)
		if err != nil {
			m.opts.OnError(m.ctx, &reflector.SinkError{Op: "Replace", Key: k, Err: err})
		}
		said[k] = out
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.gone {
		return nil
	}
	m.listedLocked(s, version)
	for k, obj := range said {
		m.entryLocked(k).put(s, obj)
	}
	var had []*entry[T]
	for _, e := range m.entries {
		if e.find(s) < 0 {
			continue
		}
		if _, listed := said[e.key]; !listed {
			e.drop(s)
			e.listed = e.loseAt(s.point) || e.listed
		}
		had = append(had, e)
	}
	m.settleAllLocked(slices.Values(had))
	m.recheckLocked()
	m.tellVersionLocked()
	return nil
}

// listedLocked notes the version of a list. One that goes back proves that the server was set back: another history
// begins.
func (m *merge[T]) listedLocked(s *source[T], version string) {
	wentBack := s.lists > 0 && rv.IsComparable(version) && order(version, s.version) < 0
	if wentBack && s.history == m.history {
		m.history++
		m.told = "0"
	}
	s.lists++
	s.point = point{m.history, version}
}
