package sharedinformer

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// mergedEntry is what the merge knows of one object.
//
//	a source has it, and no deletion makes that doubtful ──▶ it is shown, in the newest such version
//	sources have it, each in a version that is doubtful  ──▶ it stays as it is until one of them has spoken
//	no source has it, but one may yet have it            ──▶ it stays as it is for the grace, then goes; without a grace if its
//	                                                         last source was removed
//	no source has it                                     ──▶ it goes
type mergedEntry[T object] struct {
	holders []holder[T] // who has it; the one that spoke last is the last
	// isShown: the queue was given it, in the version shown, with the UID uid.
	isShown bool
	shown   string
	uid     types.UID

	// deleted is the version at which a source has told of its end, or in which it was shown when a source that had it was removed
	// (and the server not set back): what is older is doubtful, unless the source that says so is past it. "" if there was neither
	// since it was last known to be there.
	deleted string
	last    T // as that source told it, if hasLast
	hasLast bool
	// waitsFor is the source that has to speak first; nil for none.
	waitsFor *source[T]
	// among is the source whose doubts the entry was last put among, to be looked at when that comes to doubtAt; nil once it
	// was. It outlasts the deletion, so that an object that comes and goes is among the doubts of a silent source but once.
	among   *source[T]
	doubtAt string
	// The grace of the present deletion: turn tells it from others, waits that it has begun, impatient that it is over or not given.
	turn             int
	waits, impatient bool
}

// holder says that a source has an object.
type holder[T object] struct {
	from    *source[T]
	version string // "" if it could not be read
	setBack bool   // it is older than what is shown, and a list has proved that the server was set back
	// obj is kept, if hasObj, as long as it is not what is shown.
	obj    T
	hasObj bool
}

func (m *merge[T]) entryLocked(k key) *mergedEntry[T] {
	e := m.entries[k]
	if e == nil {
		e = &mergedEntry[T]{}
		m.entries[k] = e
	}
	return e
}

func (e *mergedEntry[T]) indexOf(s *source[T]) int {
	return slices.IndexFunc(e.holders, func(h holder[T]) bool { return h.from == s })
}

// put notes that s has obj. list is the version of the list that it is in; "" for an event.
func (e *mergedEntry[T]) put(s *source[T], obj T, list string) {
	var before holder[T]
	if at := e.indexOf(s); at >= 0 {
		before = e.holders[at]
		e.drop(s)
	}
	h := holder[T]{from: s, version: obj.GetResourceVersion(), obj: obj, hasObj: true}
	if e.isShown && h.version != "" && order(h.version, e.shown) < 0 {
		// In one history no list goes back, and a list that is as new as what is shown has that, or a newer version.
		h.setBack = before.setBack ||
			comparableVersion(list) && (order(h.version, before.version) < 0 || order(list, e.shown) >= 0)
	}
	e.holders = append(e.holders, h)
	s.objects++
}

// keep notes that s has the object, in whatever version.
func (e *mergedEntry[T]) keep(s *source[T]) {
	if e.indexOf(s) < 0 {
		e.holders = append(e.holders, holder[T]{from: s})
		s.objects++
	}
}

// drop notes that s does not have the object. It reports whether it had.
func (e *mergedEntry[T]) drop(s *source[T]) bool {
	at := e.indexOf(s)
	if at < 0 {
		return false
	}
	e.holders = slices.Delete(e.holders, at, at+1)
	s.objects--
	return true
}

// believed returns the newest version that is not doubtful, nil if there is none.
func (e *mergedEntry[T]) believed() (best *holder[T]) {
	for n := range e.holders {
		h := &e.holders[n]
		doubtful := e.deleted != "" && order(h.version, e.deleted) < 0 && !h.from.past(e.deleted)
		if !doubtful && (best == nil || order(h.version, best.version) >= 0) {
			best = h
		}
	}
	return best
}

// endDeletion forgets the deletion: the object is there, or gone, without doubt.
func (e *mergedEntry[T]) endDeletion() {
	var none T
	e.deleted, e.last, e.hasLast, e.waitsFor = "", none, false, nil
	e.newTurn()
}

func (e *mergedEntry[T]) newTurn() {
	e.turn++
	e.waits, e.impatient = false, false
}

// deletedAt notes that the object has ended at version, or that what showed it in version has. It reports whether nothing as new
// was noted before.
func (e *mergedEntry[T]) deletedAt(version string) (first bool) {
	if !comparableVersion(version) || order(version, e.deleted) <= 0 {
		return false
	}
	e.deleted = version
	e.newTurn()
	return true
}
