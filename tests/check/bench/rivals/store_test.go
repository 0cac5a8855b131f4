package rivals

import (
	"fmt"
	"testing"

	"github.com/cilium/statedb"
	"github.com/cilium/statedb/index"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/indexer"
)

const (
	objects      = 10_000
	perNamespace = 100
	batch        = 500
)

// object is what both stores hold. Its key is a string, as statedb's keys are bytes: neither side has to compose one.
type object struct {
	key, namespace string
	version        int
}

func makeObjects(version int) []*object {
	all := make([]*object, objects)
	for i := range all {
		namespace := fmt.Sprintf("namespace-%d", i/perNamespace)
		all[i] = &object{fmt.Sprintf("%s/pod-%d", namespace, i), namespace, version}
	}
	return all
}

// store is the work that is compared: a transaction, a look-up by key, a walk over a snapshot, and a look-up by index,
// whose result is a slice. The walk returns how many objects it met and the sum of their versions.
type store interface {
	update(objs []*object)
	get(key string) (*object, bool)
	iterate() (n, sum int)
	byNamespace(namespace string) []*object
}

type ours struct {
	*indexer.Store[string, *object]
	ops []indexer.Op[string, *object]
}

func newOurs(testing.TB) store {
	byNamespace := func(o *object, dst []string) ([]string, error) { return append(dst, o.namespace), nil }
	return &ours{Store: indexer.New(indexer.Options[string, *object]{
		Indexers: indexer.Indexers[*object]{"namespace": byNamespace},
	})}
}

func (s *ours) update(objs []*object) {
	s.ops = s.ops[:0]
	for _, o := range objs {
		s.ops = append(s.ops, indexer.Op[string, *object]{Key: o.key, Obj: o})
	}
	s.Apply(s.ops, "")
}

func (s *ours) get(key string) (*object, bool) { return s.GetByKey(key) }

func (s *ours) iterate() (n, sum int) {
	for _, o := range s.Snapshot().All() {
		n, sum = n+1, sum+o.version
	}
	return n, sum
}

func (s *ours) byNamespace(namespace string) []*object {
	found, err := s.ByIndex("namespace", namespace)
	if err != nil {
		panic(err)
	}
	return found
}

var (
	byKey = statedb.Index[*object, string]{
		Name:       "key",
		FromObject: func(o *object) index.KeySet { return index.NewKeySet(index.String(o.key)) },
		FromKey:    index.String,
		Unique:     true,
	}
	byNamespace = statedb.Index[*object, string]{
		Name:       "namespace",
		FromObject: func(o *object) index.KeySet { return index.NewKeySet(index.String(o.namespace)) },
		FromKey:    index.String,
	}
)

type theirs struct {
	db    *statedb.DB
	table statedb.RWTable[*object]
}

func newTheirs(tb testing.TB) store {
	db := statedb.New(statedb.WithMetrics(&statedb.NopMetrics{}))
	header, row := func() []string { return []string{"key"} }, func(o *object) []string { return []string{o.key} }
	table, err := statedb.NewTableAny(db, "objects", header, row, byKey, byNamespace)
	require.NoError(tb, err)
	require.NoError(tb, db.Start())
	tb.Cleanup(func() { _ = db.Stop() })
	return &theirs{db, table}
}

func (s *theirs) update(objs []*object) {
	txn := s.db.WriteTxn(s.table)
	for _, o := range objs {
		if _, _, err := s.table.Insert(txn, o); err != nil {
			panic(err)
		}
	}
	txn.Commit()
}

func (s *theirs) get(key string) (*object, bool) {
	o, _, ok := s.table.Get(s.db.ReadTxn(), byKey.Query(key))
	return o, ok
}

func (s *theirs) iterate() (n, sum int) {
	for o := range s.table.All(s.db.ReadTxn()) {
		n, sum = n+1, sum+o.version
	}
	return n, sum
}

func (s *theirs) byNamespace(namespace string) []*object {
	return statedb.Collect(s.table.List(s.db.ReadTxn(), byNamespace.Query(namespace)))
}

var stores = []struct {
	impl string
	make func(testing.TB) store
}{{"glasswatch", newOurs}, {"statedb", newTheirs}}

func forEachStore(b *testing.B, run func(b *testing.B, s store, objs []*object)) {
	objs := makeObjects(1)
	for _, side := range stores {
		b.Run("impl="+side.impl, func(b *testing.B) {
			s := side.make(b)
			s.update(objs)
			b.ReportAllocs()
			run(b, s, objs)
		})
	}
}

// One op is a transaction that stores the next version of 500 objects of 10,000. The values for the index stay the same.
func BenchmarkUpdateBatch500(b *testing.B) {
	forEachStore(b, func(b *testing.B, s store, objs []*object) {
		versions := [][]*object{makeObjects(2), objs}
		round, from := 0, 0
		for b.Loop() {
			s.update(versions[round][from : from+batch])
			if from += batch; from == objects {
				round, from = 1-round, 0
			}
		}
	})
}

func BenchmarkGetByKey(b *testing.B) {
	forEachStore(b, func(b *testing.B, s store, objs []*object) {
		i := 0
		for b.Loop() {
			if o, ok := s.get(objs[i].key); !ok || o != objs[i] {
				b.Fatalf("got %v, %t", o, ok)
			}
			i = (i + 7) % objects
		}
	})
}

// One op walks over a snapshot of 10,000 objects.
func BenchmarkIterate(b *testing.B) {
	forEachStore(b, func(b *testing.B, s store, _ []*object) {
		for b.Loop() {
			if n, _ := s.iterate(); n != objects {
				b.Fatalf("%d objects", n)
			}
		}
	})
}

// One op looks up a namespace and returns a slice of its 100 objects.
func BenchmarkByIndex(b *testing.B) {
	forEachStore(b, func(b *testing.B, s store, objs []*object) {
		i := 0
		for b.Loop() {
			if found := s.byNamespace(objs[i].namespace); len(found) != perNamespace {
				b.Fatalf("%d objects", len(found))
			}
			i = (i + perNamespace) % objects
		}
	})
}

func TestStores_ReturnTheSame(t *testing.T) {
	objs, next := makeObjects(1), makeObjects(2)
	for _, side := range stores {
		t.Run(side.impl, func(t *testing.T) {
			s := side.make(t)
			s.update(objs)
			s.update(next[:batch])

			for i, o := range objs {
				want := o
				if i < batch {
					want = next[i]
				}
				got, ok := s.get(o.key)
				require.True(t, ok)
				require.Same(t, want, got)
			}
			_, ok := s.get("namespace-0/no-such-pod")
			assert.False(t, ok)
			n, sum := s.iterate()
			assert.Equal(t, objects, n)
			assert.Equal(t, objects+batch, sum)
			assert.ElementsMatch(t, next[:perNamespace], s.byNamespace("namespace-0"))
			assert.ElementsMatch(t, objs[objects-perNamespace:], s.byNamespace("namespace-99"))
			assert.Empty(t, s.byNamespace("namespace-100"))
		})
	}
}
