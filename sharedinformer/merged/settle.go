package merged

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"glasswatch/listwatch"
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

// mayComeLocked reports whether a source may yet say that it has the object: it has not come to the loss.
func (m *merge[T]) mayComeLocked(e *entry[T]) bool {
	return len(e.holders) > 0 || e.lost.version != "" && slices.ContainsFunc(m.sources, func(s *source[T]) bool {
		return s.lists > 0 && s.covers(e.key) && !s.past(e.lost)
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
			}
		})
	}
	return time.Now().Before(e.graceEnds)
}

// forgetLossLocked: the object is there, or gone, without doubt.
func (m *merge[T]) forgetLossLocked(e *entry[T]) {
	var none T
	e.lost, e.final, e.hasFinal, e.graceEnds = point{}, none, false, time.Time{}
	delete(m.waiting, e)
}

// recheckLocked settles what waits, as a source has come further.
func (m *merge[T]) recheckLocked() {
	for _, e := range slices.SortedFunc(maps.Keys(m.waiting), compareEntries[T]) {
		m.settleLocked(e)
	}
}

// showLocked ends all doubt: a source has the object. It tells the queue if that is news.
func (m *merge[T]) showLocked(e *entry[T], best *holder[T]) {
	defer m.forgetLossLocked(e)
	if !best.hasObj || e.isShown && !m.replacesShownLocked(e, best) {
		return
	}
	if e.isShown && e.uid != best.obj.GetUID() {
		e.hasFinal = e.hasFinal && e.final.GetUID() == e.uid
		m.hideLocked(e)
	}
	if e.isShown {
		_ = m.cfg.Queue.Update(best.obj)
	} else {
		_ = m.cfg.Queue.Add(best.obj)
	}
	e.noteShown(best)
}

func (e *entry[T]) noteShown(h *holder[T]) {
	e.isShown, e.shown, e.uid = true, point{h.from.history, h.version}, h.obj.GetUID()
}

// replacesShownLocked reports whether h is to be told in the place of what is shown.
func (m *merge[T]) replacesShownLocked(e *entry[T], h *holder[T]) bool {
	switch c := order(h.version, e.shown.version); {
	case c > 0:
		return true
	case c == 0:
		// Without versions everything is news. Two objects with one version: the server was set back.
		return h.version == "" || h.obj.GetUID() != "" && h.obj.GetUID() != e.uid
	default:
		// No source has what is shown, and h is in no doubt. If h's source has come to what is shown, that cannot be
		// in one history.
		return e.shown.history < m.history || h.from.past(e.shown)
	}
}

// hideLocked tells the queue of the object's end, if it is shown.
func (m *merge[T]) hideLocked(e *entry[T]) {
	switch {
	case !e.isShown:
		return
	case e.hasFinal:
		_ = m.cfg.Queue.Delete(e.final)
	default:
		_ = m.cfg.Queue.DeleteKey(e.key)
	}
	var none T
	e.isShown, e.shown, e.uid, e.final, e.hasFinal = false, point{}, "", none, false
}

// syncLocked gives the queue its first list once every source has listed.
func (m *merge[T]) syncLocked() {
	if m.synced || m.ctx == nil || slices.ContainsFunc(m.sources, func(s *source[T]) bool { return s.lists == 0 }) {
		return
	}
	m.synced = true
	var objs []T
	var keep []key
	for _, e := range m.entries {
		switch best := e.certain(); {
		case best == nil:
			m.settleLocked(e) // it waits, or goes; nothing is shown
			continue
		case best.hasObj:
			objs = append(objs, best.obj)
			e.noteShown(best)
		default:
			keep = append(keep, e.key)
		}
		m.forgetLossLocked(e)
		e.releaseShown()
	}
	slices.SortFunc(objs, func(a, b T) int { return compareKeys(listwatch.KeyOf(a), listwatch.KeyOf(b)) })
	slices.SortFunc(keep, compareKeys)
	m.told = m.lowestLocked()
	if m.told != "" {
		m.queued++
	}
	_ = m.cfg.Queue.Replace(objs, keep, m.told)
}

func compareEntries[T listwatch.Object](a, b *entry[T]) int { return compareKeys(a.key, b.key) }

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
