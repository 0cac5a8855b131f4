package cache

import (
	"glasswatch/listwatch"
)

// storeSink is a ReflectorStore as the native reflector sees it.
type storeSink struct {
	store  ReflectorStore
	listed func()
	// changed: the store was given an event whose version a ResourceVersionUpdater has not been told. Only the reflector's
	// goroutine uses it.
	changed bool
}

func (s *storeSink) Add(obj object) error {
	s.changed = true
	return s.store.Add(obj)
}

func (s *storeSink) Update(obj object) error {
	s.changed = true
	return s.store.Update(obj)
}

func (s *storeSink) Delete(obj object) error {
	s.changed = true
	return s.store.Delete(obj)
}

// DeleteKey is a deletion whose object could not be read.
func (s *storeSink) DeleteKey(key listwatch.Key) error {
	s.changed = true
	tombstone := DeletedFinalStateUnknown{Key: NamespacedNameAsObjectName(key).String()}
	if getter, ok := s.store.(KeyGetter); ok {
		obj, _, _ := getter.GetByKey(tombstone.Key)
		if obj, ok := obj.(object); ok { // a queue's GetByKey returns other things
			tombstone.Obj = obj
		}
	}
	return s.store.Delete(tombstone)
}

// Replace lists what could not be read with its last version, if the store can tell it. A store that cannot takes it for gone.
func (s *storeSink) Replace(objs []object, keep []listwatch.Key, resourceVersion string) error {
	list := make([]any, 0, len(objs)+len(keep))
	for _, obj := range objs {
		list = append(list, obj)
	}
	if getter, ok := s.store.(KeyGetter); ok {
		for _, key := range keep {
			obj, _, _ := getter.GetByKey(NamespacedNameAsObjectName(key).String())
			if obj, ok := obj.(object); ok { // a queue's GetByKey returns other things
				list = append(list, obj)
			}
		}
	}
	err := s.store.Replace(list, resourceVersion)
	if err != nil {
		return err
	}
	s.changed = false
	s.listed()
	return nil
}

// Bookmark passes a bookmark on, if the store wants to know.
func (s *storeSink) Bookmark(resourceVersion string) error {
	s.changed = true
	if store, ok := s.store.(ReflectorBookmarkStore); ok {
		return store.Bookmark(resourceVersion)
	}
	return nil
}

// tellVersion tells the store of the version that an event has brought. A list's it has from Replace.
func (s *storeSink) tellVersion(updater ResourceVersionUpdater, version string) {
	if s.changed && version != "" {
		updater.UpdateResourceVersion(version)
	}
	s.changed = false
}
