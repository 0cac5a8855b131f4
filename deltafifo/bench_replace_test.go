package deltafifo

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// listed is a store that has every object of the list, under keys of either kind.
type listed[K comparable] struct{ keys []K }

func (s listed[K]) ListKeys() []K { return slices.Clone(s.keys) }

type ourStore struct{ listed[types.NamespacedName] }

func (ourStore) GetByKey(types.NamespacedName) (benchObject, bool) { return nil, false }

type theirStore struct{ listed[string] }

func (theirStore) GetByKey(string) (interface{}, bool, error) { return nil, false, nil }

// relisted is a queue that takes lists.
type relisted struct {
	update  func(i int)
	replace func()
	pop     func() (deltas int)
}

type listedObjects struct {
	objs    []benchObject
	untyped []interface{}
	ours    ourStore
	theirs  theirStore
}

func listOf(n int) *listedObjects {
	l := &listedObjects{objs: benchObjects(n)}
	for _, o := range l.objs {
		key, _ := benchKey(o)
		l.untyped = append(l.untyped, o)
		l.ours.keys = append(l.ours.keys, key)
		l.theirs.keys = append(l.theirs.keys, key.String())
	}
	return l
}

func (l *listedObjects) ourFIFO() relisted {
	f := NewDeltaFIFO(Options[types.NamespacedName, benchObject]{KeyFunc: benchKey, Known: l.ours})
	deltas := 0
	process := func(_ types.NamespacedName, ds []Delta[types.NamespacedName, benchObject], _ bool) error {
		deltas = len(ds)
		return nil
	}
	return relisted{
		update:  func(i int) { f.Update(l.objs[i]) },
		replace: func() { f.Replace(l.objs, nil, "1") },
		pop:     func() int { f.Pop(process); return deltas },
	}
}

func (l *listedObjects) theirFIFO() relisted {
	f := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: l.theirs, EmitDeltaTypeReplaced: true})
	deltas := 0
	process := func(obj interface{}, _ bool) error { deltas = len(obj.(cache.Deltas)); return nil }
	return relisted{
		update:  func(i int) { f.Update(l.objs[i]) },
		replace: func() { f.Replace(l.untyped, "1") },
		pop:     func() int { f.Pop(process); return deltas },
	}
}

// leastFIFO looks up the key of each object twice, as something new and as something known, and appends it to a slice.
func (l *listedObjects) leastFIFO() relisted {
	f := newFloor(l.objs)
	return relisted{
		update: func(i int) { f.update(l.objs[i]) },
		replace: func() {
			sum := 0
			for i, o := range l.objs {
				f.update(o)
				sum += f.known[l.ours.keys[i]]
			}
		},
		pop: func() int { f.pop(); return 1 },
	}
}

// One op is a list of objects that the consumer knows, put into the queue and popped to the end. first: the queue is a new
// one, as for an informer's first list. again: it has had such a list before. queued: each object is in the queue already.
func BenchmarkDeltaFIFO_Replace(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000, 100_000} {
		l := listOf(n)
		for _, of := range []struct {
			impl string
			make func() relisted
		}{{"glasswatch", l.ourFIFO}, {"client-go", l.theirFIFO}, {"floor", l.leastFIFO}} {
			run := func(list string, op func(b *testing.B)) {
				b.Run(fmt.Sprintf("objects=%d/list=%s/impl=%s", n, list, of.impl), func(b *testing.B) {
					b.ReportAllocs()
					op(b)
				})
			}
			run("first", func(b *testing.B) {
				for b.Loop() {
					relist(b, of.make(), n, n)
				}
			})
			run("again", func(b *testing.B) {
				f := of.make()
				relist(b, f, n, n)
				for b.Loop() {
					relist(b, f, n, n)
				}
			})
			if of.impl == "floor" {
				continue
			}
			run("queued", func(b *testing.B) {
				f := of.make()
				for b.Loop() {
					for i := range n {
						f.update(i)
					}
					relist(b, f, n, 2*n)
				}
			})
		}
	}
}

func relist(b *testing.B, f relisted, keys, deltas int) {
	f.replace()
	for range keys {
		deltas -= f.pop()
	}
	mustEqual(b, deltas, 0)
}

// One op is a relist as one event. Our list comes with its keys; client-go's consumer asks for them.
func BenchmarkInOrder_Replace(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		l := listOf(n)
		b.Run(fmt.Sprintf("objects=%d/impl=glasswatch", n), func(b *testing.B) {
			q := newBenchInOrder()
			keyed := 0
			process := func(d Delta[types.NamespacedName, benchObject], _ bool) error {
				for i := range d.Bulk.Items {
					keyed += min(1, len(d.Bulk.Items[i].Key.Name))
				}
				return nil
			}
			b.ReportAllocs()
			for b.Loop() {
				q.Replace(l.objs, nil, "1")
				q.Pop(process)
			}
			mustEqual(b, keyed, n*b.N)
		})
		b.Run(fmt.Sprintf("objects=%d/impl=client-go", n), func(b *testing.B) {
			q := newClientGoInOrder()
			keyed := 0
			process := func(obj interface{}, _ bool) error {
				for _, o := range obj.(cache.Deltas)[0].Object.(cache.ReplacedAllInfo).Objects {
					key, _ := cache.MetaNamespaceKeyFunc(o)
					keyed += min(1, len(key))
				}
				return nil
			}
			b.ReportAllocs()
			for b.Loop() {
				q.Replace(l.untyped, "1")
				q.Pop(process)
			}
			mustEqual(b, keyed, n*b.N)
		})
	}
}
