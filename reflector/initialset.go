package reflector

import (
	"cmp"
	"maps"
	"slices"

	"glasswatch/listwatch"
)

// initialSet gathers the initial events of a streaming list, to which changes that happen meanwhile may belong.
type initialSet[T listwatch.Object] struct {
	objects map[listwatch.Key]initialObject[T]
	// upTo is the newest version of a change that happened meanwhile. Changes are in order. Additions are not: the
	// objects that were there before are among them.
	upTo string
}

// initialObject is the last good version of an object; if there is none, why not.
type initialObject[T listwatch.Object] struct {
	obj T
	bad *listwatch.ObjectError
}

// apply takes over an event of an object.
func (l *initialSet[T]) apply(ev listwatch.Event[T]) {
	if ev.Type != listwatch.Added && (l.upTo == "" || isOlder(l.upTo, ev.ResourceVersion)) {
		l.upTo = ev.ResourceVersion
	}
	key := listwatch.KeyOf(ev.Object)
	l.objects[key] = initialObject[T]{obj: ev.Object}
	if ev.Type == listwatch.Deleted {
		delete(l.objects, key)
	}
}

// applyBad takes over an event that could not be read. It keeps the last good version, if there is one.
func (l *initialSet[T]) applyBad(bad *listwatch.ObjectError) {
	if _, ok := l.objects[bad.Key]; !ok {
		l.objects[bad.Key] = initialObject[T]{bad: bad}
	}
	if bad.Type == listwatch.Deleted {
		delete(l.objects, bad.Key)
	}
}

// list returns what was gathered, sorted by key as in a paged list.
func (l *initialSet[T]) list(version string) *listwatch.List[T] {
	if isOlder(version, l.upTo) {
		version = l.upTo // the end of the initial events came late
	}
	list := &listwatch.List[T]{ResourceVersion: version, Items: make([]T, 0, len(l.objects))}
	keys := slices.SortedFunc(maps.Keys(l.objects), func(a, b listwatch.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, key := range keys {
		if o := l.objects[key]; o.bad == nil {
			list.Items = append(list.Items, o.obj)
		} else {
			list.Bad = append(list.Bad, o.bad)
		}
	}
	return list
}
