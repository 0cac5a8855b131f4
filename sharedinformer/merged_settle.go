package sharedinformer

import (
	"container/heap"
	"slices"
	"time"

	"glasswatch/listwatch"
)

// settleLocked tells the queue what has become of an object, if that can be said.
func (m *merge[T]) settleLocked(k key, e *mergedEntry[T]) error {
	if !m.synced {
		return nil
	}
	if best := e.believed(); best != nil {
		return m.showLocked(k, e, best)
	}
	if len(e.holders) > 0 {
		e.forgetShown()
		m.awaitLocked(k, e, e.holders[0].from)
		return nil
	}
	late := m.lateLocked(k, e)
	if late == nil {
		err := m.hideLocked(k, e)
		e.endDeletion()
		delete(m.entries, k)
		return err
	}
	m.awaitLocked(k, e, late)
	if e.isShown && m.grace > 0 && !e.impatient {
		m.graceLocked(k, e)
		return nil
	}
	return m.hideLocked(k, e)
}

// showLocked makes best what is shown, if it is newer.
func (m *merge[T]) showLocked(k key, e *mergedEntry[T], best *holder[T]) (err error) {
	last, hasLast := e.last, e.hasLast
	e.endDeletion()
	defer e.forgetShown()
	if !best.hasObj || e.isShown && !m.supersedesLocked(k, e, best) {
		return nil
	}
	obj := best.obj
	if e.isShown && e.uid != obj.GetUID() {
		e.last, e.hasLast = last, hasLast && last.GetUID() == e.uid
		if err = m.hideLocked(k, e); err != nil {
			return err
		}
	}
	add := !e.isShown
	e.isShown, e.shown, e.uid = true, best.version, obj.GetUID()
	for n := range e.holders {
		e.holders[n].setBack = false
	}
	if add {
		return m.cfg.Queue.Add(obj)
	}
	return m.cfg.Queue.Update(obj)
}

// forgetShown lets go of objects that the queue was given.
func (e *mergedEntry[T]) forgetShown() {
	var none T
	for n := range e.holders {
		if h := &e.holders[n]; e.isShown && h.version == e.shown {
			h.obj, h.hasObj = none, false
		}
	}
}

// supersedesLocked reports whether h is to be shown instead of what is shown: it is newer, or the server was set back.
func (m *merge[T]) supersedesLocked(k key, e *mergedEntry[T], h *holder[T]) bool {
	switch c := order(h.version, e.shown); {
	case c > 0:
		return true
	case c == 0:
		// Objects without versions: each is news. Another object of the same version: the server was set back.
		return h.version == "" || h.hasObj && h.obj.GetUID() != "" && h.obj.GetUID() != e.uid
	}
	return m.setBackLocked(k, e)
}

// setBackLocked reports whether the version shown is of a history that the server has left: who has the object proves it, or a
// source that was set back has not come as far again, and none is past it.
func (m *merge[T]) setBackLocked(k key, e *mergedEntry[T]) (setBack bool) {
	if slices.ContainsFunc(e.holders, func(h holder[T]) bool { return h.setBack }) {
		return true
	}
	for _, s := range m.sources {
		if s.listed && s.covers(k) {
			if s.past(e.shown) {
				return false
			}
			setBack = setBack || order(s.version, s.setBackFrom) < 0
		}
	}
	return setBack
}

// hideLocked tells of the object's end, if it is shown.
func (m *merge[T]) hideLocked(k key, e *mergedEntry[T]) error {
	if !e.isShown {
		return nil
	}
	last, hasLast := e.last, e.hasLast
	var none T
	e.isShown, e.shown, e.uid, e.last, e.hasLast = false, "", "", none, false
	if hasLast {
		return m.cfg.Queue.Delete(last)
	}
	return m.cfg.Queue.DeleteKey(k)
}

// lateLocked returns a source that may yet say that it has the object: it has not come to the version of its deletion.
func (m *merge[T]) lateLocked(k key, e *mergedEntry[T]) *source[T] {
	if e.deleted == "" {
		return nil
	}
	for _, s := range m.sources {
		if s.listed && s.covers(k) && !s.past(e.deleted) {
			return s
		}
	}
	return nil
}

// awaitLocked has the entry looked at again once s has come to the version of the deletion.
func (m *merge[T]) awaitLocked(k key, e *mergedEntry[T], s *source[T]) {
	e.waitsFor = s
	// A look that comes too early plans the next.
	if e.among != s || order(e.deleted, e.doubtAt) < 0 {
		e.among, e.doubtAt = s, e.deleted
		heap.Push(&s.doubts, doubt[T]{e.deleted, k, e})
	}
}

// graceLocked has the entry looked at again once its grace is over.
func (m *merge[T]) graceLocked(k key, e *mergedEntry[T]) {
	if e.waits {
		return
	}
	e.waits = true
	m.graces = append(m.graces, grace[T]{k, e, e.turn, time.Now().Add(m.grace)})
	if len(m.graces) == 1 {
		m.wake()
	}
}

// absentLocked takes from s what a list at version lacks.
func (m *merge[T]) absentLocked(s *source[T], present map[key]struct{}, version string) (err error) {
	var gone []key
	for k, e := range m.entries {
		if _, ok := present[k]; !ok && e.indexOf(s) >= 0 {
			gone = append(gone, k)
		}
	}
	slices.SortFunc(gone, compareKeys)
	for _, k := range gone {
		e := m.entries[k]
		e.drop(s)
		e.deletedAt(version)
		if failed := m.settleLocked(k, e); failed != nil {
			err = failed
		}
	}
	return err
}

// reconsiderLocked looks at every object again, as versions have been set back: what was told of deletions counts no more.
func (m *merge[T]) reconsiderLocked() (err error) {
	m.told = ""
	for k, e := range m.entries {
		e.deleted = ""
		if failed := m.settleLocked(k, e); failed != nil {
			err = failed
		}
	}
	return err
}

// syncLocked gives the queue its first list once every source has listed.
func (m *merge[T]) syncLocked() {
	if m.synced || m.ctx == nil || slices.ContainsFunc(m.sources, func(s *source[T]) bool { return !s.listed }) {
		return
	}
	m.synced = true
	var objs []T
	var keep []key
	for k, e := range m.entries {
		best := e.believed()
		switch {
		case best == nil:
			m.settleLocked(k, e) // waits, or goes; nothing is shown
		case !best.hasObj:
			keep = append(keep, k)
			e.endDeletion()
		default:
			objs = append(objs, best.obj)
			e.isShown, e.shown, e.uid = true, best.version, best.obj.GetUID()
			e.endDeletion()
			e.forgetShown()
		}
	}
	slices.SortFunc(objs, func(a, b T) int { return compareKeys(listwatch.KeyOf(a), listwatch.KeyOf(b)) })
	slices.SortFunc(keep, compareKeys)
	m.told = m.lowestLocked()
	if err := m.cfg.Queue.Replace(objs, keep, m.told); err != nil {
		m.cfg.Reflector.OnError(m.ctx, err)
	}
	m.wake() // resyncs begin
}

// tellVersionLocked lets the store's version follow the slowest source.
func (m *merge[T]) tellVersionLocked() {
	lowest := m.lowestLocked()
	if !m.synced || !comparableVersion(lowest) || order(lowest, m.told) <= 0 {
		return
	}
	m.told = lowest
	if err := m.cfg.Queue.Bookmark(lowest); err != nil {
		m.cfg.Reflector.OnError(m.ctx, err)
	}
}
