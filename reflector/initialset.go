package reflector

import "glasswatch/listwatch"

// unreadable stands in an index for an object of which there is no version that could be read.
const unreadable = -1

// initialSet gathers the initial events of a streaming list, to which changes that happen meanwhile may belong.
type initialSet[T listwatch.Object] struct {
	items []T
	index map[listwatch.Key]int // Invariant: index[KeyOf(items[i])] == i; all other values are unreadable.
	// upTo is the newest version of a change that happened meanwhile. Changes are in order. Additions are not: the
	// objects that were there before are among them.
	upTo string
}

// apply takes over an event of an object.
func (l *initialSet[T]) apply(ev listwatch.Event[T]) {
	if ev.Type != listwatch.Added && (l.upTo == "" || isOlder(l.upTo, ev.ResourceVersion)) {
		l.upTo = ev.ResourceVersion
	}
	key := listwatch.KeyOf(ev.Object)
	i, ok := l.index[key]
	switch {
	case ev.Type == listwatch.Deleted:
		l.remove(key)
	case ok && i != unreadable:
		l.items[i] = ev.Object
	default:
		l.index[key] = len(l.items)
		l.items = append(l.items, ev.Object)
	}
}

// addBad takes over an event that could not be read. It keeps the last good version, if there is one.
func (l *initialSet[T]) addBad(bad *listwatch.ObjectError) {
	if bad.Type == listwatch.Deleted {
		l.remove(bad.Key)
	} else if _, ok := l.index[bad.Key]; !ok {
		l.index[bad.Key] = unreadable
	}
}

// remove puts the last item in the place of the one that goes.
func (l *initialSet[T]) remove(key listwatch.Key) {
	i, ok := l.index[key]
	delete(l.index, key)
	if !ok || i == unreadable {
		return
	}
	last := len(l.items) - 1
	if i != last {
		l.items[i] = l.items[last]
		l.index[listwatch.KeyOf(l.items[i])] = i
	}
	clear(l.items[last:])
	l.items = l.items[:last]
}

// keep returns the keys of the objects that could not be read.
func (l *initialSet[T]) keep() (keys []listwatch.Key) {
	for key, i := range l.index {
		if i == unreadable {
			keys = append(keys, key)
		}
	}
	return keys
}
