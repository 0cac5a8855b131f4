package indexer

import (
	"maps"
	"slices"
)

// model is a store so simple that it is right: a map, indexed by looking at everything.
type model struct {
	items    map[string]*item
	indexers Indexers[*item]
	rv       string
}

func (m *model) clone() *model {
	return &model{maps.Clone(m.items), maps.Clone(m.indexers), m.rv}
}

func (m *model) valuesOf(name string, o *item) (values []string) {
	defer func() {
		if recover() != nil {
			values = nil
		}
	}()
	values, err := m.indexers[name](o, nil)
	if err != nil {
		return nil
	}
	return values
}

func (m *model) keysBy(name, value string) []string {
	keys := []string{}
	for key, o := range m.items {
		if slices.Contains(m.valuesOf(name, o), value) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (m *model) values(name string) []string {
	set := map[string]bool{}
	for _, o := range m.items {
		for _, v := range m.valuesOf(name, o) {
			set[v] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

var allIndexers = Indexers[*item]{"group": byGroup, "tags": byTags, "parity": byParity}

// freshSnapshot shows the present moment in a copy, without a trace in the store: chunks that it shared would hide that
// others are not.
func freshSnapshot[K comparable, T any](s *Store[K, T]) Snapshot[K, T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := &s.content
	m := &moment[K, T]{keys: copyOf(c.keys), objs: copyOf(c.objs), filed: map[string]table[[]*set]{}, rv: c.rv}
	for _, ix := range c.indices {
		m.filed[ix.name] = copyOf(ix.filed)
	}
	return Snapshot[K, T]{m}
}

func copyOf[E any](t table[E]) (copied table[E]) {
	for slot := range uint32(t.len) {
		copied.push(t.at(slot))
	}
	return copied
}

func compareSnapshot(t fataler, s Snapshot[string, *item], m *model) {
	t.Helper()
	if s.Len() != len(m.items) || s.ResourceVersion() != m.rv {
		t.Fatalf("snapshot has %d at %q, want %d at %q", s.Len(), s.ResourceVersion(), len(m.items), m.rv)
	}
	if got := maps.Collect(s.All()); !maps.Equal(got, m.items) {
		t.Fatalf("snapshot has %v, want %v", got, m.items)
	}
	for key, want := range m.items {
		if got, ok := s.Get(key); !ok || got != want {
			t.Fatalf("snapshot: %s is %v, want %v", key, got, want)
		}
	}
	if _, ok := s.Get("nobody"); ok {
		t.Fatalf("snapshot invents a key")
	}
	for name := range allIndexers {
		if _, err := s.ByIndex(name, ""); (err == nil) != (m.indexers[name] != nil) {
			t.Fatalf("snapshot: index %s: %v", name, err)
		}
		if m.indexers[name] == nil {
			continue
		}
		for _, value := range append(m.values(name), "none") {
			seq, _ := s.ByIndex(name, value)
			keys := []string{}
			for k, o := range seq {
				if m.items[k] != o {
					t.Fatalf("snapshot: %s=%s gives %v, want %v", name, value, o, m.items[k])
				}
				keys = append(keys, k)
			}
			slices.Sort(keys)
			if want := m.keysBy(name, value); !slices.Equal(keys, want) {
				t.Fatalf("snapshot: %s=%s gives %v, want %v", name, value, keys, want)
			}
		}
	}
}

func compareStore(t fataler, s *Store[string, *item], m *model) {
	t.Helper()
	if s.Len() != len(m.items) || s.ResourceVersion() != m.rv {
		t.Fatalf("store has %d at %q, want %d at %q", s.Len(), s.ResourceVersion(), len(m.items), m.rv)
	}
	if got, want := s.ListKeys(), slices.Sorted(maps.Keys(m.items)); !slices.Equal(got, want) {
		t.Fatalf("store has keys %v, want %v", got, want)
	}
	sameItems(t, s.List(), slices.Collect(maps.Values(m.items)))
	if got := maps.Collect(s.All()); !maps.Equal(got, m.items) {
		t.Fatalf("store has %v, want %v", got, m.items)
	}
	for key, want := range m.items {
		if got, ok := s.GetByKey(key); !ok || got != want {
			t.Fatalf("store: %s is %v, want %v", key, got, want)
		}
	}
	if got := s.GetIndexers(); !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(m.indexers))) {
		t.Fatalf("indexers %v, want %v", got, m.indexers)
	}
	for name := range m.indexers {
		if got, want := s.ListIndexValues(name), m.values(name); !slices.Equal(got, want) {
			t.Fatalf("index %s has values %v, want %v", name, got, want)
		}
		for _, value := range append(m.values(name), "none") {
			want := m.keysBy(name, value)
			if got, err := s.IndexKeys(name, value); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s=%s gives %v, %v, want %v", name, value, got, err, want)
			}
			var items []*item
			for _, k := range want {
				items = append(items, m.items[k])
			}
			got, err := s.ByIndex(name, value)
			if err != nil {
				t.Fatalf("ByIndex: %v", err)
			}
			sameItems(t, got, items)
		}
	}
}

func sameItems(t fataler, got, want []*item) {
	t.Helper()
	byVersion := func(a, b *item) int { return a.version - b.version }
	got, want = slices.SortedFunc(slices.Values(got), byVersion), slices.SortedFunc(slices.Values(want), byVersion)
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}
