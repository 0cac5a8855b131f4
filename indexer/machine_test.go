package indexer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// keptSnapshot is a snapshot and what it must show for ever.
type keptSnapshot struct {
	snap Snapshot[string, *item]
	want *model
}

type machine struct {
	s       *Store[string, *item]
	m       *model
	moments []keptSnapshot
	errs    map[string]int
	want    map[string]int
	version int
	keys    int
}

func newMachine(keys int) *machine {
	x := &machine{keys: keys, errs: map[string]int{}, want: map[string]int{}}
	x.m = &model{items: map[string]*item{}, indexers: Indexers[*item]{"group": byGroup}}
	x.s = New(Options[string, *item]{
		KeyFunc:  itemKey,
		Compare:  strings.Compare,
		Indexers: x.m.indexers,
		OnError:  func(key string, err error) { x.errs[key]++ },
	})
	x.m.indexers = maps.Clone(x.m.indexers)
	return x
}

func (x *machine) key(t *rapid.T) string {
	return fmt.Sprint("k", rapid.IntRange(0, x.keys-1).Draw(t, "key"))
}

func (x *machine) item(t *rapid.T, key string) *item {
	x.version++
	return &item{
		key:     key,
		version: x.version,
		group:   rapid.SampledFrom([]string{"", "a", "b", "c", "bad", "panic", key}).Draw(t, "group"),
		tags:    rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z", "own-" + key}), 0, 4).Draw(t, "tags"),
	}
}

// expectErrors notes the errors that storing o will cause.
func (x *machine) expectErrors(o *item, names ...string) {
	for _, name := range names {
		if name == "group" && (o.group == "bad" || o.group == "panic") {
			x.want[o.key]++
		}
	}
}

func (x *machine) names() []string { return slices.Collect(maps.Keys(x.m.indexers)) }

func (x *machine) put(o *item) {
	x.m.items[o.key] = o
	x.expectErrors(o, x.names()...)
}

func (x *machine) check(t *rapid.T) {
	checkInvariants(t, x.s)
	compareSnapshot(t, freshSnapshot(x.s), x.m)
	compareStore(t, x.s, x.m)
	for _, mo := range x.moments {
		compareSnapshot(t, mo.snap, mo.want)
	}
	if !maps.Equal(x.errs, x.want) {
		t.Fatalf("errors %v, want %v", x.errs, x.want)
	}
}

func (x *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": x.check,
		"add": func(t *rapid.T) {
			o := x.item(t, x.key(t))
			if err := x.s.Add(o); err != nil {
				t.Fatalf("Add: %v", err)
			}
			x.put(o)
		},
		"add without key": func(t *rapid.T) {
			o := &item{}
			_, _, getErr := x.s.Get(o)
			if x.s.Add(o) == nil || x.s.Update(o) == nil || x.s.Delete(o) == nil || getErr == nil {
				t.Fatalf("an object without a key was accepted")
			}
		},
		"update": func(t *rapid.T) {
			o := x.item(t, x.key(t))
			if err := x.s.Update(o); err != nil {
				t.Fatalf("Update: %v", err)
			}
			x.put(o)
		},
		"delete": func(t *rapid.T) {
			key := x.key(t)
			if err := x.s.Delete(&item{key: key}); err != nil {
				t.Fatalf("Delete: %v", err)
			}
			delete(x.m.items, key)
		},
		"delete key": func(t *rapid.T) {
			key := x.key(t)
			x.s.DeleteKey(key)
			delete(x.m.items, key)
		},
		"delete many":     x.deleteMany,
		"replace":         x.replace,
		"replace keyed":   x.replaceKeyed,
		"apply":           x.apply,
		"bookmark":        func(t *rapid.T) { x.m.rv = x.nextRV(); x.s.Bookmark(x.m.rv); x.s.Bookmark("") },
		"add indexers":    x.addIndexers,
		"remove indexers": x.removeIndexers,
		"snapshot": func(t *rapid.T) {
			x.moments = append(x.moments, keptSnapshot{x.s.Snapshot(), x.m.clone()})
		},
		"forget snapshot": func(t *rapid.T) {
			if len(x.moments) > 0 {
				i := rapid.IntRange(0, len(x.moments)-1).Draw(t, "which")
				x.moments = slices.Delete(x.moments, i, i+1)
			}
		},
		"index": func(t *rapid.T) {
			o := x.item(t, x.key(t))
			for name := range x.m.indexers {
				var want []*item
				values := x.m.valuesOf(name, o)
				for _, have := range x.m.items {
					if slices.ContainsFunc(x.m.valuesOf(name, have), func(v string) bool { return slices.Contains(values, v) }) {
						want = append(want, have)
					}
				}
				got, err := x.s.Index(name, o)
				if failing := name == "group" && (o.group == "bad" || o.group == "panic"); failing != (err != nil) {
					t.Fatalf("Index(%s, %v): %v", name, o, err)
				}
				sameItems(t, got, want)
			}
		},
	}
}

func (x *machine) nextRV() string { x.version++; return fmt.Sprint(x.version) }

func (x *machine) deleteMany(t *rapid.T) {
	keep := rapid.IntRange(0, 3).Draw(t, "keep")
	var ops []Op[string, *item]
	for _, key := range slices.Sorted(maps.Keys(x.m.items))[min(keep, len(x.m.items)):] {
		ops = append(ops, Op[string, *item]{Key: key, Delete: true})
		delete(x.m.items, key)
	}
	x.s.Apply(ops, "")
}

func (x *machine) replace(t *rapid.T) {
	var objs []*item
	x.m.items = map[string]*item{}
	n := rapid.IntRange(0, x.keys).Draw(t, "n")
	bad := 0
	for range n {
		o := x.item(t, x.key(t))
		if rapid.IntRange(0, 9).Draw(t, "nameless") == 0 {
			o.key = ""
			bad++
		} else {
			x.m.items[o.key] = o
		}
		objs = append(objs, o)
	}
	for _, o := range x.m.items {
		x.expectErrors(o, x.names()...)
	}
	x.m.rv = x.nextRV()
	err := x.s.Replace(objs, x.m.rv)
	if got := 0; err != nil {
		got = len(err.(interface{ Unwrap() []error }).Unwrap())
		if got != bad {
			t.Fatalf("%d errors for %d objects without a key", got, bad)
		}
	} else if bad > 0 {
		t.Fatalf("no error for %d objects without a key", bad)
	}
}

func (x *machine) replaceKeyed(t *rapid.T) {
	var keys []string
	var objs []*item
	x.m.items = map[string]*item{}
	for range rapid.IntRange(0, x.keys).Draw(t, "n") {
		o := x.item(t, x.key(t))
		keys, objs = append(keys, o.key), append(objs, o)
		x.m.items[o.key] = o
	}
	for _, o := range x.m.items {
		x.expectErrors(o, x.names()...)
	}
	x.m.rv = x.nextRV()
	x.s.ReplaceKeyed(keys, objs, x.m.rv)
}

func (x *machine) apply(t *rapid.T) {
	ops := make([]Op[string, *item], rapid.IntRange(0, 20).Draw(t, "ops"))
	var old []*item
	for i := range ops {
		key := x.key(t)
		old = append(old, x.m.items[key])
		ops[i].Old, ops[i].Existed = &item{}, true // must be overwritten
		if ops[i].Key = key; rapid.Bool().Draw(t, "delete") {
			ops[i].Delete = true
			delete(x.m.items, key)
		} else {
			ops[i].Obj = x.item(t, key)
			x.put(ops[i].Obj)
		}
	}
	rv := ""
	if rapid.Bool().Draw(t, "rv") {
		rv = x.nextRV()
		x.m.rv = rv
	}
	x.s.Apply(ops, rv)
	for i, op := range ops {
		if op.Old != old[i] || op.Existed != (old[i] != nil) {
			t.Fatalf("op %d found %v, %v, want %v", i, op.Old, op.Existed, old[i])
		}
	}
}

func (x *machine) addIndexers(t *rapid.T) {
	add := Indexers[*item]{}
	conflict := false
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"group", "tags", "parity"}), rapid.ID[string]).Draw(t, "names") {
		add[name] = allIndexers[name]
		conflict = conflict || x.m.indexers[name] != nil
	}
	if err := x.s.AddIndexers(add); (err != nil) != conflict {
		t.Fatalf("AddIndexers: %v", err)
	}
	if !conflict {
		maps.Copy(x.m.indexers, add)
		for _, o := range x.m.items {
			x.expectErrors(o, slices.Collect(maps.Keys(add))...)
		}
	}
}

func (x *machine) removeIndexers(t *rapid.T) {
	names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"group", "tags", "parity"}), rapid.ID[string]).Draw(t, "names")
	unknown := slices.ContainsFunc(names, func(name string) bool { return x.m.indexers[name] == nil })
	if err := x.s.RemoveIndexers(names...); (err != nil) != unknown {
		t.Fatalf("RemoveIndexers: %v", err)
	}
	if !unknown {
		for _, name := range names {
			delete(x.m.indexers, name)
		}
	}
}

func TestStore_EqualsTheModelThroughEveryMutator(t *testing.T) {
	for _, keys := range []int{5, 60} {
		t.Run(fmt.Sprint(keys, " keys"), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { t.Repeat(newMachine(keys).actions()) })
		})
	}
}
