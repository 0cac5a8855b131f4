package merged

import (
	"cmp"
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
	late := m.lateLocked(e)
	e.recheckWhen(late)
	if late == nil {
		delete(m.entries, e.key)
	} else if len(e.holders) > 0 || e.isShown && m.inGraceLocked(e) {
		return
	}
	m.hideLocked(e)
	if late == nil {
		e.forgetLoss()
	}
}

// lateLocked returns a source that has not come to the loss: one that has the object, else one that may get it; nil if there
// is none.
func (m *merge[T]) lateLocked(e *entry[T]) *source[T] {
	if len(e.holders) > 0 {
		return e.holders[0].from // it is in doubt, or the entry would not be asked
	}
	for _, s := range m.sources {
		if e.lost.version != "" && s.lists > 0 && s.covers(e.key) && !s.past(e.lost) {
			return s
		}
	}
	return nil
}

// inGraceLocked reports whether the grace goes on. It begins at the first call.
func (m *merge[T]) inGraceLocked(e *entry[T]) bool {
	now := time.Now()
	if e.graceEnds.IsZero() {
		e.graceEnds = now.Add(m.moveGrace)
		if len(m.graces) == 0 {
			m.graceTimer.Reset(m.moveGrace)
		}
		m.graces = append(m.graces, grace[T]{e, e.graceEnds})
	}
	return now.Before(e.graceEnds)
}

// showLocked ends all doubt: a source has the object. It tells the queue if that is news.
func (m *merge[T]) showLocked(e *entry[T], best *holder[T]) {
	e.recheckWhen(nil)
	defer e.forgetLoss()
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
		// Older, and nobody has what is shown: in one history that would be in doubt, or h's source is still on its way.
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
		e.forgetLoss()
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

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
