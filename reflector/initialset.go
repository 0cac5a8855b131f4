package reflector

import (
	"cmp"
	"maps"
	"slices"

	"glasswatch/listwatch"
)

// initialSet gathers the initial events of a streaming list, to which changes that happen meanwhile may belong.
type initialSet[T listwatch.Object] struct {
	objects map[listwatch.Key]T
	// upTo is the newest version of a change that happened meanwhile. Changes are in order. Additions are not: the
	// objects that were there before are among them.
	upTo string
}

// apply takes over an event of an object.
func (l *initialSet[T]) apply(ev listwatch.Event[T]) {
	if ev.Type != listwatch.Added && (l.upTo == "" || isOlder(l.upTo, ev.ResourceVersion)) {
		l.upTo = ev.ResourceVersion
	}
	l.objects[listwatch.KeyOf(ev.Object)] = ev.Object
	if ev.Type == listwatch.Deleted {
		delete(l.objects, listwatch.KeyOf(ev.Object))
	}
}

// list returns what was gathered, sorted by key as in a paged list.
func (l *initialSet[T]) list(version string) *listwatch.List[T] {
	if isOlder(version, l.upTo) {
		version = l.upTo // the end of the initial events came late
	}
	items := slices.SortedFunc(maps.Values(l.objects), func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return &listwatch.List[T]{Items: items, ResourceVersion: version}
}
