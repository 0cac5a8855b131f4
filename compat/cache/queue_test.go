package cache

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// sortedStore is a consumer's store whose keys come in order, so that what a relist finds deleted does.
type sortedStore map[string]any

func (s sortedStore) ListKeys() []string {
	keys := []string{}
	for key := range s {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (s sortedStore) GetByKey(key string) (any, bool, error) {
	obj, exists := s[key]
	return obj, exists, nil
}

// apply brings the store in line with what was popped.
func (s sortedStore) apply(popped any) {
	for _, d := range popped.(Deltas) {
		switch obj := d.Object.(type) {
		case DeletedFinalStateUnknown:
			delete(s, obj.Key)
		case *corev1.Pod:
			key, _ := keyOfPod(obj)
			s[key] = obj
			if d.Type == Deleted {
				delete(s, key)
			}
		case ReplacedAllInfo:
			clear(s)
			for _, obj := range obj.Objects {
				key, _ := keyOfPod(obj)
				s[key] = obj
			}
		}
	}
}

// consumed is what came out of one pop: the deltas, and each batch as it was.
type consumed struct {
	Deltas  []Deltas
	Initial []bool
	Err     error
	Returns any
}

// consumer is a queue and the store it fills.
type consumer struct {
	queue closableQueue
	store sortedStore
	left  error // what process functions return
}

func (c *consumer) pop() (got consumed) {
	got.Returns, got.Err = c.queue.Pop(func(obj any, isInInitialList bool) error {
		got.Deltas = append(got.Deltas, slices.Clone(obj.(Deltas)))
		got.Initial = append(got.Initial, isInInitialList)
		c.store.apply(obj)
		return c.left
	})
	return got
}

func (c *consumer) popBatch() (got consumed) {
	single := func(obj any, isInInitialList bool) error {
		got.Deltas = append(got.Deltas, slices.Clone(obj.(Deltas)))
		got.Initial = append(got.Initial, isInInitialList)
		c.store.apply(obj)
		return c.left
	}
	got.Err = c.queue.(QueueWithBatch).PopBatch(func(ds []Delta, isInInitialList bool) error {
		return single(Deltas(ds), isInInitialList)
	}, single)
	return got
}

// twinQueues are the same queue of both packages, each with a consumer's store. Both are closed from the start: a pop of
// an empty queue then returns, and nothing else is different.
type twinQueues struct {
	theirs, ours consumer
	version      int
}

func newTwinQueues(open func(s storage, known KeyListerGetter) closableQueue) *twinQueues {
	w := &twinQueues{}
	w.theirs.store, w.ours.store = sortedStore{}, sortedStore{}
	w.theirs.queue, w.ours.queue = open(clientGoStorage, w.theirs.store), open(ourStorage, w.ours.store)
	w.theirs.queue.Close()
	w.ours.queue.Close()
	return w
}

func (w *twinQueues) both(rt *rapid.T, what string, do func(q closableQueue) error) {
	equalErrors(rt, do(w.theirs.queue), do(w.ours.queue), what)
}

// produce is one call of a producer.
func (w *twinQueues) produce(rt *rapid.T, mostInList int) {
	pod := drawPod(rt, &w.version)
	key, _ := keyOfPod(pod)
	switch rapid.IntRange(0, 13).Draw(rt, "produce") {
	case 0, 1, 2:
		w.both(rt, "add", func(q closableQueue) error { return q.Add(pod) })
	case 3, 4, 5:
		w.both(rt, "update", func(q closableQueue) error { return q.Update(pod) })
	case 6, 7:
		w.both(rt, "delete", func(q closableQueue) error { return q.Delete(pod) })
	case 8:
		obj := rapid.SampledFrom([]any{nil, pod}).Draw(rt, "last seen")
		w.both(rt, "bury", func(q closableQueue) error { return q.Delete(DeletedFinalStateUnknown{Key: key, Obj: obj}) })
	case 9, 10:
		list := drawPods(rt, &w.version, mostInList)
		version := fmt.Sprint(w.version)
		w.both(rt, "replace", func(q closableQueue) error { return q.Replace(slices.Clone(list), version) })
	case 11:
		w.both(rt, "resync", func(q closableQueue) error { return q.Resync() })
	case 12:
		if w.theirs.queue.HasSynced() { // an object without a key counts as the first event there
			w.both(rt, "keyless", func(q closableQueue) error { return q.Add("keyless") })
			w.both(rt, "keyless", func(q closableQueue) error { return q.Delete("keyless") })
		}
	case 13:
		w.both(rt, "bookmark", func(q closableQueue) error {
			if b, ok := q.(ReflectorBookmarkStore); ok {
				return b.Bookmark(fmt.Sprint(w.version))
			}
			return nil
		})
	}
}

func (w *twinQueues) requireSame(rt *rapid.T) {
	require.Equal(rt, w.theirs.queue.HasSynced(), w.ours.queue.HasSynced())
	require.Equal(rt, w.theirs.store, w.ours.store)
}

// popOne pops one from each, and requires the same.
func (w *twinQueues) popOne(rt *rapid.T) consumed {
	w.setReturn(rt)
	theirs, ours := w.theirs.pop(), w.ours.pop()
	require.Equal(rt, theirs, ours)
	w.requireSame(rt)
	return theirs
}

func (w *twinQueues) setReturn(rt *rapid.T) {
	var err error
	if rapid.IntRange(0, 4).Draw(rt, "process fails") == 0 {
		err = fmt.Errorf("process failed")
	}
	w.theirs.left, w.ours.left = err, err
}

// played runs a random history over twins, and drains them.
func played(t *testing.T, open func(s storage, known KeyListerGetter) closableQueue, pop func(w *twinQueues, rt *rapid.T)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		w := newTwinQueues(open)
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			if rapid.IntRange(0, 2).Draw(rt, "pop") == 0 {
				pop(w, rt)
			} else {
				w.produce(rt, 6)
			}
			require.Equal(rt, w.theirs.queue.HasSynced(), w.ours.queue.HasSynced())
		}
		for w.popOne(rt).Deltas != nil {
		}
	})
}

// stamp is a transform that shows whether it was called once.
func stamp(obj any) (any, error) {
	p := obj.(*corev1.Pod).DeepCopy()
	p.ResourceVersion += "!"
	return p, nil
}

func popOne(w *twinQueues, rt *rapid.T) { w.popOne(rt) }

func TestDeltaFIFO_DoesWhatClientGosDoes(t *testing.T) {
	for name, opts := range map[string]DeltaFIFOOptions{
		"replaced":    {EmitDeltaTypeReplaced: true},
		"sync":        {},
		"transformer": {EmitDeltaTypeReplaced: true, Transformer: stamp},
	} {
		opts.KeyFunction = keyOfPod
		t.Run(name, func(t *testing.T) {
			played(t, func(s storage, known KeyListerGetter) closableQueue {
				opts.KnownObjects = known
				return s.deltaFIFO(opts)
			}, popOne)
		})
		t.Run(name+", no known objects", func(t *testing.T) {
			played(t, func(s storage, _ KeyListerGetter) closableQueue {
				opts.KnownObjects = nil
				return s.deltaFIFO(opts)
			}, popOne)
		})
	}
}

func TestRealFIFO_DoesWhatClientGosDoes(t *testing.T) {
	for name, opts := range map[string]RealFIFOOptions{
		"object by object": {},
		"transformer":      {Transformer: stamp},
		"atomic":           {AtomicEvents: true},
		"bookmarks":        {AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true, Transformer: stamp},
	} {
		opts.KeyFunction = keyOfPod
		open := func(s storage, known KeyListerGetter) closableQueue {
			opts := opts
			if !opts.AtomicEvents {
				opts.KnownObjects = known
			}
			return s.realFIFO(opts)
		}
		t.Run(name, func(t *testing.T) { played(t, open, popOne) })
		t.Run(name+", in batches", func(t *testing.T) {
			if opts.AtomicEvents {
				played(t, open, (*twinQueues).popAllInBatches)
			} else {
				played(t, open, (*twinQueues).popBatch)
			}
		})
	}
}

func (w *twinQueues) popBatch(rt *rapid.T) {
	w.setReturn(rt)
	require.Equal(rt, w.theirs.popBatch(), w.ours.popBatch())
	w.requireSame(rt)
}

// popAllInBatches drains both: batches may be cut differently, what is in them is not.
func (w *twinQueues) popAllInBatches(rt *rapid.T) {
	require.Equal(rt, drain(&w.theirs), drain(&w.ours))
	w.requireSame(rt)
}

// inBatch is a delta that came in a batch, or in the singular.
type inBatch struct {
	Delta   Delta
	Initial bool
}

func drain(c *consumer) (all []inBatch) {
	c.left = nil
	for {
		got := c.popBatch()
		if got.Err != nil {
			return all
		}
		for i, batch := range got.Deltas {
			for _, d := range batch {
				all = append(all, inBatch{d, got.Initial[i]})
			}
		}
	}
}
