package merged

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
)

type key = listwatch.Key

// entry is what the merge knows of one object.
type entry[T listwatch.Object] struct {
	key     key
	holders []holder[T] // who has it; the one that spoke last is the last

	// isShown: the queue was given the object, of this UID. shown is the version given last, also if it was deleted.
	isShown bool
	shown   point
	uid     types.UID

	// lost is where a source has told of the object's end. If a source that had it was removed, it is the version
	// shown then. Older versions are in doubt, unless they are newer than shown. Zero if nothing was lost since the
	// object was last known to be there.
	lost      point
	listed    bool      // lost is the version of a list, so the end may have come before
	final     *T        // the object as the source that lost it told it last; may be nil
	graceEnds time.Time // zero before the grace begins
}

// holder says that a source has an object.
type holder[T listwatch.Object] struct {
	from    *source[T]
	told    point  // where the source was when it told of the object
	version string // "" if it could not be read
	obj     *T     // nil if it is what is shown, or could not be read
}

// find returns the place of a source among the holders, -1 if it has no such object.
func (e *entry[T]) find(s *source[T]) int {
	return slices.IndexFunc(e.holders, func(h holder[T]) bool { return h.from == s })
}

// put notes that s has obj. nil is a version that could not be read: an earlier one that was read stays.
func (e *entry[T]) put(s *source[T], obj *T) {
	if obj == nil && e.find(s) >= 0 {
		return
	}
	h := holder[T]{from: s, told: s.point, obj: obj}
	if obj != nil {
		h.version = (*obj).GetResourceVersion()
	}
	e.drop(s)
	e.holders = append(e.holders, h)
	s.objects++
}

// drop notes that s does not have the object. It reports whether it had.
func (e *entry[T]) drop(s *source[T]) bool {
	at := e.find(s)
	if at < 0 {
		return false
	}
	e.holders = slices.Delete(e.holders, at, at+1)
	s.objects--
	return true
}

// loseAt notes where the object was lost. It reports false if a newer loss was noted before.
func (e *entry[T]) loseAt(p point) bool {
	if !rv.IsComparable(p.version) || p.before(e.lost) {
		return false
	}
	if p != e.lost {
		e.lost, e.listed, e.graceEnds = p, false, time.Time{}
	}
	return true
}

// certain returns the newest version that is not in doubt, nil if there is none.
func (e *entry[T]) certain() (best *holder[T]) {
	for n := range e.holders {
		h := &e.holders[n]
		isOld := order(h.version, e.lost.version) < 0 && order(h.version, e.shown.version) <= 0
		doubtful := isOld && !h.from.past(e.lost)
		if !doubtful && (best == nil || order(h.version, best.version) >= 0) {
			best = h
		}
	}
	return best
}

// releaseShown lets go of objects that the queue was given.
func (e *entry[T]) releaseShown() {
	for n := range e.holders {
		if h := &e.holders[n]; e.isShown && h.version == e.shown.version {
			h.obj = nil
		}
	}
}

// point is a version in one of the server's histories. A server that was set back begins another history.
type point struct {
	history int
	version string
}

// past reports whether a source at p has said everything up to q. One that knows of a later history has left q behind.
func (p point) past(q point) bool {
	return p.history > q.history || !rv.IsComparable(p.version) || order(p.version, q.version) >= 0
}

func (p point) before(q point) bool {
	return p.history < q.history || p.history == q.history && order(p.version, q.version) < 0
}

// order compares two versions: negative if a is the older. An unknown one is the oldest. Of two that do not compare, a,
// which came later, counts as the newer.
func order(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return -1
	case b == "":
		return 1
	}
	if c, err := resourceversion.CompareResourceVersion(a, b); err == nil {
		return c
	}
	return 1
}
