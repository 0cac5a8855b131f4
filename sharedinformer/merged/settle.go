package merged

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"glasswatch/internal/keys"
)

// settleLocked tells the queue what has become of an object, if that can be said. doc.go has its four cases.
func (m *merge[T]) settleLocked(e *entry[T]) {
	if !m.synced {
		return
	}
	defer e.releaseShown()
	if best := e.certain(); best != nil {
		m.showLocked(e, best)
		return
	}
	if m.mayComeLocked(e) {
		m.waiting[e] = struct{}{}
		if len(e.holders) == 0 && !m.inGraceLocked(e) {
			m.hideLocked(e)
		}
		return
	}
	m.hideLocked(e)
	m.forgetLossLocked(e)
	delete(m.entries, e.key)
}

// mayComeLocked reports whether a source may yet bring the object: it has not listed, or not come to the loss.
func (m *merge[T]) mayComeLocked(e *entry[T]) bool {
	return len(e.holders) > 0 || e.lost.version != "" && slices.ContainsFunc(m.sources, func(s *source[T]) bool {
		return s.covers(e.key) && (s.lists == 0 || !s.past(e.lost))
	})
}

// inGraceLocked reports whether the grace goes on. It begins at the first call.
func (m *merge[T]) inGraceLocked(e *entry[T]) bool {
	if e.graceEnds.IsZero() && e.isShown && m.moveGrace > 0 {
		ends := time.Now().Add(m.moveGrace)
		e.graceEnds = ends
		time.AfterFunc(m.moveGrace, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if !m.stopped && e.graceEnds.Equal(ends) {
				m.settleLocked(e)
				m.tellVersionLocked()
			}
		})
	}
	return time.Now().Before(e.graceEnds)
}

// forgetLossLocked: the object is there, or gone, without doubt.
func (m *merge[T]) forgetLossLocked(e *entry[T]) {
	e.lost, e.final, e.graceEnds = point{}, nil, time.Time{}
	delete(m.waiting, e)
}

// recheckLocked settles what waits, as a source has come further.
func (m *merge[T]) recheckLocked() { m.settleAllLocked(maps.Keys(m.waiting)) }

// settleAllLocked settles entries in the order of their keys.
func (m *merge[T]) settleAllLocked(entries iter.Seq[*entry[T]]) {
	for _, e := range slices.SortedFunc(entries, func(a, b *entry[T]) int { return keys.Compare(a.key, b.key) }) {
		m.settleLocked(e)
	}
}

// showLocked ends all doubt: a source has the object. It tells the queue if that is news.
func (m *merge[T]) showLocked(e *entry[T], best *holder[T]) {
	defer m.forgetLossLocked(e)
	if best.obj == nil || e.isShown && !m.replacesShownLocked(e, best) {
		return
	}
	obj := *best.obj
	if e.isShown && e.uid != obj.GetUID() {
		if e.final != nil && (*e.final).GetUID() != e.uid {
			e.final = nil
		}
		m.hideLocked(e)
	}
	switch {
	case m.firstList != nil:
		*m.firstList = append(*m.firstList, obj)
	case e.isShown:
		_ = m.queue.Update(obj)
	default:
		_ = m.queue.Add(obj)
	}
	e.isShown, e.shown, e.uid = true, point{best.from.history, best.version}, obj.GetUID()
}

// replacesShownLocked reports whether h is to be told in the place of what is shown.
func (m *merge[T]) replacesShownLocked(e *entry[T], h *holder[T]) bool {
	switch c := order(h.version, e.shown.version); {
	case c > 0:
		return true
	case c == 0:
		// Without versions everything is news. Two objects with one version: the server was set back.
		return h.version == "" || (*h.obj).GetUID() != "" && (*h.obj).GetUID() != e.uid
	default:
		// No source has what is shown. h may be of before: its source may have had a version in between that could not
		// be read. If its source had come to what is shown when it told of h, that cannot be in one history.
		return e.shown.history < m.history || h.told.past(e.shown)
	}
}

// hideLocked tells the queue of the object's end, if it is shown.
func (m *merge[T]) hideLocked(e *entry[T]) {
	switch {
	case !e.isShown:
		return
	case e.final != nil:
		_ = m.queue.Delete(*e.final)
	default:
		_ = m.queue.DeleteKey(e.key)
	}
	e.isShown, e.uid, e.final = false, "", nil
}

// syncLocked gives the queue its first list once every source has listed.
func (m *merge[T]) syncLocked() {
	if m.synced || m.ctx == nil || slices.ContainsFunc(m.sources, func(s *source[T]) bool { return s.lists == 0 }) {
		return
	}
	objs := []T{}
	m.synced, m.firstList = true, &objs
	m.settleAllLocked(maps.Values(m.entries))
	m.firstList = nil
	m.told = cmp.Or(m.lowestLocked(), "0")
	m.queued++
	m.completeLocked()
	_ = m.queue.Replace(objs, nil, m.told)
}
