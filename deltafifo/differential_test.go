package deltafifo

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
)

// The tests here play one random script to ours and to client-go's queue, where both are meant to do the same: no keys
// that cannot be told, no failing transforms.

// stamp is a transform that returns another object.
func stamp(t *thing) (*thing, error) { return &thing{name: t.name, version: t.version + 1000}, nil }

func clientGoStamp(obj interface{}) (interface{}, error) { return stamp(obj.(*thing)) }

// clientGoKey is asked for the key of bulk events, too.
func clientGoKey(obj interface{}) (string, error) {
	if t, ok := obj.(*thing); ok {
		return nameOf(t)
	}
	return "", errNoName
}

// clientGoStore shows a storeModel to client-go.
type clientGoStore struct{ *storeModel }

func (s clientGoStore) GetByKey(key string) (interface{}, bool, error) {
	if t, ok := s.storeModel.GetByKey(key); ok {
		return t, true, nil
	}
	return nil, false, nil
}

// fromClientGo translates a delta.
func fromClientGo(d cache.Delta) delta {
	out := delta{}
	for typ := Added; typ <= Bookmark; typ++ {
		if string(d.Type) == typ.String() {
			out.Type = typ
		}
	}
	switch obj := d.Object.(type) {
	case *thing:
		out.Key, out.Obj = obj.name, obj
	case cache.DeletedFinalStateUnknown:
		out.Key, out.FinalStateUnknown = obj.Key, true
		out.Obj, _ = obj.Obj.(*thing)
		out.Missing = out.Obj == nil
	case cache.ReplacedAllInfo:
		out.Bulk = &Bulk[string, *thing]{ResourceVersion: obj.ResourceVersion}
		for _, o := range obj.Objects {
			th := o.(*thing)
			out.Bulk.Items = append(out.Bulk.Items, Item[string, *thing]{Key: th.name, Obj: th})
		}
	case cache.BookmarkInfo:
		out.Bulk = &Bulk[string, *thing]{ResourceVersion: obj.ResourceVersion}
	}
	return out
}

func showClientGo(ds []cache.Delta) string {
	out := make([]delta, len(ds))
	for i, d := range ds {
		out[i] = fromClientGo(d)
	}
	return show(out)
}

// clientGoQueue is what the reflector calls of client-go's queues.
type clientGoQueue interface {
	Add(interface{}) error
	Update(interface{}) error
	Delete(interface{}) error
	Replace([]interface{}, string) error
	Resync() error
}

// drawStep draws an operation that means the same to both, and plays it to both.
func drawStep(t *rapid.T, ours producer, theirs clientGoQueue, version int) {
	th := v(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "key"), version)
	switch rapid.IntRange(0, 9).Draw(t, "op") {
	case 0, 1:
		ours.Add(th)
		theirs.Add(th)
	case 2, 3, 4:
		ours.Update(th)
		theirs.Update(th)
	case 5, 6:
		ours.Delete(th)
		theirs.Delete(th)
	case 7:
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 0, 4).Draw(t, "list")
		list, untyped := []*thing{}, []interface{}{}
		for _, name := range names {
			th := v(name, version)
			list, untyped = append(list, th), append(untyped, th)
		}
		ours.Replace(list, nil, fmt.Sprint(version))
		theirs.Replace(untyped, fmt.Sprint(version))
	case 8:
		ours.Resync()
		theirs.Resync()
	case 9:
		ours.Bookmark(fmt.Sprint(version))
		if q, ok := theirs.(*cache.RealFIFO); ok {
			q.Bookmark(fmt.Sprint(version))
		}
	}
}

func TestDifferential_DeltaFIFOPopsWhatClientGoPops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, theirStore := newStoreModel(), newStoreModel()
		ours := NewDeltaFIFO(Options[string, *thing]{KeyFunc: nameOf, Known: store, Transform: stamp})
		theirs := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{
			KeyFunction: clientGoKey, KnownObjects: clientGoStore{theirStore}, Transformer: clientGoStamp, EmitDeltaTypeReplaced: true,
		})
		for version := range rapid.IntRange(1, 40).Draw(t, "steps") {
			if ours.Len() > 0 && rapid.Bool().Draw(t, "pop") {
				var got, want string
				ours.Pop(func(_ string, ds []delta, initial bool) error {
					got = flagged(show(ds), initial)
					store.apply(ds)
					return nil
				})
				theirs.Pop(func(obj interface{}, initial bool) error {
					ds := obj.(cache.Deltas)
					want = flagged(showClientGo(ds), initial)
					for _, d := range ds {
						theirStore.apply([]delta{fromClientGo(d)})
					}
					return nil
				})
				if got != want {
					t.Fatalf("ours popped %s, client-go %s", got, want)
				}
			} else {
				drawStep(t, ours, theirs, version)
			}
			if ours.HasSynced() != theirs.HasSynced() || !slices.Equal(store.keys, theirStore.keys) {
				t.Fatalf("synced: ours %v, client-go %v", ours.HasSynced(), theirs.HasSynced())
			}
		}
	})
}

func TestDifferential_InOrderPopsWhatClientGoPops(t *testing.T) {
	// More than two batches' worth, to see where batches end.
	crowd := many(2100)
	rapid.Check(t, func(t *rapid.T) {
		ours := NewInOrder(Options[string, *thing]{KeyFunc: nameOf, Transform: stamp})
		theirs := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
			KeyFunction: clientGoKey, Transformer: clientGoStamp,
			AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true,
		})
		batch := func(out *[]string) cache.ProcessBatchFunc {
			return func(ds []cache.Delta, initial bool) error {
				*out = append(*out, flagged(showClientGo(ds), initial))
				return nil
			}
		}
		single := func(out *[]string) cache.PopProcessFunc {
			return func(obj interface{}, initial bool) error { return batch(out)(obj.(cache.Deltas), initial) }
		}
		for version := range rapid.IntRange(1, 30).Draw(t, "steps") {
			var got, want []string
			popSingle := func() {
				ours.Pop(func(d delta, initial bool) error {
					got = append(got, flagged(show([]delta{d}), initial))
					return nil
				})
				theirs.Pop(single(&want))
			}
			switch what := rapid.IntRange(0, 49).Draw(t, "what"); {
			case what == 0:
				for _, th := range crowd {
					ours.Update(th)
					theirs.Update(th)
				}
			case what < 10 && ours.Len() > 0:
				popSingle()
			case what < 20:
				for len(ours.head) > 0 {
					popSingle() // our batches end at the end of head, theirs do not
				}
				singles := len(got)
				for ours.Len() > 0 {
					ours.PopBatch(func(ds []delta, initial bool) error {
						got = append(got, flagged(show(ds), initial))
						return nil
					})
				}
				for range got[singles:] {
					theirs.PopBatch(batch(&want), single(&want))
				}
			default:
				drawStep(t, ours, theirs, version)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("ours popped\n%s\nclient-go\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if ours.HasSynced() != theirs.HasSynced() {
				t.Fatalf("synced: ours %v, client-go %v", ours.HasSynced(), theirs.HasSynced())
			}
		}
	})
}
