package reflector

import "glasswatch/listwatch"

// initialSet gathers the initial events of a streaming list, to which changes that happen meanwhile may belong.
type initialSet[T listwatch.Object] struct {
	items []T
	index map[listwatch.Key]int // Invariant: index[KeyOf(items[i])] == i, and nothing else.
	bad   map[listwatch.Key]struct{}
	// upTo is the newest version of a change that happened meanwhile. Changes are in order. Additions are not: the objects
	// that were there before are among them.
	upTo string
}

func newInitialSet[T listwatch.Object]() *initialSet[T] {
	return &initialSet[T]{index: map[listwatch.Key]int{}, bad: map[listwatch.Key]struct{}{}}
}

// apply takes an event over. It returns an error only if it does not know what to do with it.
func (l *initialSet[T]) apply(ev listwatch.Event[T]) *listwatch.ObjectError {
	isChange := ev.Type == listwatch.Modified || ev.Type == listwatch.Deleted
	if isChange && (l.upTo == "" || isOlder(l.upTo, ev.ResourceVersion)) {
		l.upTo = ev.ResourceVersion
	}
	switch ev.Type {
	case listwatch.Added, listwatch.Modified:
		key := listwatch.KeyOf(ev.Object)
		delete(l.bad, key)
		if i, ok := l.index[key]; ok {
			l.items[i] = ev.Object
			return nil
		}
		l.index[key] = len(l.items)
		l.items = append(l.items, ev.Object)
	case listwatch.Deleted:
		l.remove(listwatch.KeyOf(ev.Object))
	case listwatch.Bookmark: // ends nothing, and a list has a version of its own
	default:
		return &listwatch.ObjectError{Type: ev.Type, ResourceVersion: ev.ResourceVersion, Err: errUnknownEvent}
	}
	return nil
}

// addBad keeps the last good version, if there is one.
func (l *initialSet[T]) addBad(bad *listwatch.ObjectError) {
	switch {
	case bad.Key == (listwatch.Key{}):
	case bad.Type == listwatch.Deleted:
		l.remove(bad.Key)
	default:
		if _, ok := l.index[bad.Key]; !ok {
			l.bad[bad.Key] = struct{}{}
		}
	}
}

// remove puts the last item in the place of the one that goes.
func (l *initialSet[T]) remove(key listwatch.Key) {
	delete(l.bad, key)
	i, ok := l.index[key]
	if !ok {
		return
	}
	last := len(l.items) - 1
	l.items[i] = l.items[last]
	l.index[listwatch.KeyOf(l.items[i])] = i
	delete(l.index, key)
	clear(l.items[last:])
	l.items = l.items[:last]
}

func (l *initialSet[T]) contents() (items []T, keep []listwatch.Key) {
	for key := range l.bad {
		keep = append(keep, key)
	}
	return l.items, keep
}
