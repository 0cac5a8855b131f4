package cache

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func named(name string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name, pod.ResourceVersion = name, "1"
	return pod
}

// queues are all kinds of queues of a package, each with an empty consumer's store.
func (s storage) queues() map[string]closableQueue {
	return map[string]closableQueue{
		"DeltaFIFO":         s.deltaFIFO(DeltaFIFOOptions{KeyFunction: keyOfPod}),
		"RealFIFO":          s.realFIFO(RealFIFOOptions{KeyFunction: keyOfPod, KnownObjects: sortedStore{}}),
		"RealFIFO, atomic":  s.realFIFO(RealFIFOOptions{KeyFunction: keyOfPod, AtomicEvents: true}),
		"RealFIFO, unlocks": s.realFIFO(RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true}),
	}
}

func withAllQueues(t *testing.T, story func(t *testing.T, q closableQueue)) {
	t.Helper()
	withBothStorages(t, func(t *testing.T, s storage) {
		for name := range s.queues() {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { story(t, s.queues()[name]) })
			})
		}
	})
}

func ignore(any, bool) error { return nil }

func TestQueues_PopWaitsAndCloseEndsIt(t *testing.T) {
	withAllQueues(t, func(t *testing.T, q closableQueue) {
		popped := make(chan error)
		pop := func() {
			_, err := q.Pop(ignore)
			popped <- err
		}
		go pop()
		synctest.Wait()
		require.Empty(t, popped, "it waits")
		require.NoError(t, q.Add(named("x")))
		require.NoError(t, <-popped)

		go pop()
		synctest.Wait()
		require.False(t, q.IsClosed())
		q.Close()
		q.Close()
		require.True(t, q.IsClosed())
		require.ErrorIs(t, <-popped, ErrFIFOClosed)
		require.NoError(t, q.Add(named("y")), "producers are not refused")
		go pop()
		require.NoError(t, <-popped)
	})
}

func TestQueues_AreSyncedWhenTheFirstListWasProcessed(t *testing.T) {
	withAllQueues(t, func(t *testing.T, q closableQueue) {
		require.NoError(t, q.Replace([]any{named("x"), named("y")}, "1"))
		checker := q.HasSyncedChecker()
		require.Equal(t, q.Name(), checker.Name())
		for !q.HasSynced() {
			select {
			case <-checker.Done():
				t.Fatal("done before it was synced")
			default:
			}
			_, err := q.Pop(func(_ any, isInInitialList bool) error {
				require.True(t, isInInitialList)
				return nil
			})
			require.NoError(t, err)
		}
		<-checker.Done()
		require.NoError(t, q.Add(named("z")))
		_, err := q.Pop(func(_ any, isInInitialList bool) error {
			require.False(t, isInInitialList)
			return nil
		})
		require.NoError(t, err)
	})
}

func TestQueues_AnEmptyListOrAnObjectBeforeAnyListMeansSynced(t *testing.T) {
	withAllQueues(t, func(t *testing.T, q closableQueue) {
		require.False(t, q.HasSynced())
		require.NoError(t, q.Delete(named("x")))
		require.True(t, q.HasSynced())
	})
}

func TestQueues_OursCanBeAskedWhileProcessing(t *testing.T) {
	for name, q := range ourStorage.queues() {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, q.Replace([]any{named("x")}, "1"))
			_, err := q.Pop(func(any, bool) error {
				require.False(t, q.HasSynced(), "it is not processed yet")
				return nil
			})
			require.NoError(t, err)
			require.True(t, q.HasSynced())
		})
	}
}

func TestQueues_OursSurviveAProcessFunctionThatPanics(t *testing.T) {
	for name, q := range ourStorage.queues() {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, q.Replace([]any{named("x")}, "1"))
			require.Panics(t, func() { _, _ = q.Pop(func(any, bool) error { panic("process") }) })
			require.True(t, q.HasSynced())
			require.NoError(t, q.Add(named("y")))
			_, err := q.Pop(ignore)
			require.NoError(t, err)
		})
	}
}

func TestRealFIFO_BatchesEndAtAThousandAndAtTheInitialList(t *testing.T) {
	withBothStorages(t, func(t *testing.T, s storage) {
		q := s.realFIFO(RealFIFOOptions{KeyFunction: keyOfPod, KnownObjects: sortedStore{}})
		list := make([]any, 1500)
		for i := range list {
			list[i] = named(fmt.Sprint(i))
		}
		require.NoError(t, q.Replace(list, "1"))
		require.NoError(t, q.Add(named("later")))
		sizes := []int{}
		batch := func(ds []Delta, initial bool) error {
			require.True(t, initial)
			sizes = append(sizes, len(ds))
			return nil
		}
		single := func(obj any, initial bool) error {
			require.False(t, initial)
			sizes = append(sizes, len(obj.(Deltas)))
			return errors.New("process failed")
		}
		require.NoError(t, q.PopBatch(batch, single))
		require.NoError(t, q.PopBatch(batch, single))
		require.True(t, q.HasSynced())
		require.EqualError(t, q.PopBatch(batch, single), "process failed")
		require.Equal(t, []int{1000, 500, 1}, sizes)
	})
}

// badTransform fails on the pod "bad", and panics on "worse".
func badTransform(obj any) (any, error) {
	switch obj.(*corev1.Pod).Name {
	case "bad":
		return nil, errKeyless
	case "worse":
		panic("worse")
	}
	return obj, nil
}

func TestQueues_AFailingTransformCostsThatObjectOnly(t *testing.T) {
	for name, open := range map[string]func(known KeyListerGetter) Queue{
		"DeltaFIFO": func(known KeyListerGetter) Queue {
			return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KnownObjects: known, Transformer: badTransform, EmitDeltaTypeReplaced: true})
		},
		"RealFIFO": func(known KeyListerGetter) Queue {
			return NewRealFIFO(nil, known, badTransform)
		},
	} {
		t.Run(name, func(t *testing.T) {
			last := named("bad")
			c := consumer{store: sortedStore{"bad": last, "gone": named("gone")}}
			q := open(c.store)
			q.Close()
			require.NoError(t, q.Replace([]any{named("bad"), named("worse"), named("good")}, "1"))
			require.Error(t, q.Add(named("bad")), "a producer hears of it")
			require.NoError(t, q.Delete(named("bad")))
			var popped []Delta
			for {
				obj, err := q.Pop(ignore)
				if err != nil {
					break
				}
				popped = append(popped, obj.(Deltas)...)
			}
			require.ElementsMatch(t, []Delta{
				{Type: Deleted, Object: DeletedFinalStateUnknown{Key: "gone", Obj: c.store["gone"]}},
				{Type: Replaced, Object: named("good")},
				{Type: Deleted, Object: DeletedFinalStateUnknown{Key: "bad", Obj: map[string]any{"DeltaFIFO": last}[name]}},
			}, popped)
		})
	}
}

func TestRealFIFO_AnAtomicListWithAnObjectThatCannotBeTransformedIsAnError(t *testing.T) {
	withBothStorages(t, func(t *testing.T, s storage) {
		q := s.realFIFO(RealFIFOOptions{AtomicEvents: true, Transformer: badTransform})
		require.ErrorIs(t, q.Replace([]any{named("good"), named("bad")}, "1"), errKeyless)
		require.False(t, q.HasSynced())
	})
}

func TestQueues_AnObjectWithoutAKeyCostsItselfOnly(t *testing.T) {
	for name, q := range map[string]Queue{
		"DeltaFIFO": NewDeltaFIFO(keyOfPod, nil),
		"RealFIFO":  NewRealFIFO(keyOfPod, sortedStore{}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			require.IsType(t, KeyError{}, q.Add("keyless"))
			require.False(t, q.HasSynced(), "it is not the first event")
			require.IsType(t, KeyError{}, q.Replace([]any{"keyless", named("x")}, "1"))
			obj, err := q.Pop(ignore)
			require.NoError(t, err)
			require.Equal(t, named("x"), obj.(Deltas)[0].Object)
			require.True(t, q.HasSynced())
		})
	}
}

func TestRealFIFO_RefusesOptionsThatContradictEachOther(t *testing.T) {
	for _, opts := range []RealFIFOOptions{
		{},
		{AtomicEvents: true, KnownObjects: sortedStore{}},
		{KnownObjects: sortedStore{}, UnlockWhileProcessing: true},
		{KnownObjects: sortedStore{}, EmitDeltaTypeBookmark: true},
	} {
		withBothStorages(t, func(t *testing.T, s storage) { require.Panics(t, func() { s.realFIFO(opts) }) })
	}
}

func TestDeltaFIFO_NamesWhatItHandsOut(t *testing.T) {
	f := NewDeltaFIFOWithOptions(DeltaFIFOOptions{Name: "pods", Transformer: stamp})
	require.Equal(t, "pods", f.Name())
	require.NotNil(t, f.Transformer())
	_, err := f.KeyOf(Deltas{})
	require.ErrorIs(t, err, ErrZeroLengthDeltasObject)
	for _, obj := range []any{named("x"), Deltas{{Type: Added, Object: named("w")}, {Type: Updated, Object: named("x")}}, DeletedFinalStateUnknown{Key: "x"}} {
		key, err := f.KeyOf(obj)
		require.NoError(t, err)
		require.Equal(t, "x", key)
	}
}
