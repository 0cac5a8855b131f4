package cache

import (
	"time"

	"glasswatch/deltafifo"
)

// atomicQueue is a RealFIFO with AtomicEvents.
type atomicQueue struct {
	front *front
	queue *deltafifo.InOrder[string, queued]
	// keeps: a list has a kept in the place of each object that the transform fails on. Otherwise the list fails.
	keeps bool
}

// kept is an item of a ReplacedAll for consumers of this package: an object that is there, and that the transform failed
// on. Its last good version stays.
type kept struct{ key string }

func newAtomicQueue(front *front, m queueMetrics, keeps bool) *atomicQueue {
	native := deltafifo.Options[string, queued]{KeyFunc: queued.keyOf, BatchSize: maxBatch}
	if m.queued != nil {
		native.Metrics.Queued = m.setQueued
	}
	if m.latency != nil {
		native.Metrics.Processed = func(took time.Duration) { m.observe(took.Seconds()) }
	}
	return &atomicQueue{front: front, queue: deltafifo.NewInOrder(native), keeps: keeps}
}

// add cannot fail, for the layer's KeyFunc cannot.
func (a *atomicQueue) add(t DeltaType, q queued) {
	switch t {
	case Added:
		_ = a.queue.Add(q)
	case Updated:
		_ = a.queue.Update(q)
	case Deleted:
		_ = a.queue.Delete(q)
	}
}

// replace queues the whole list as one object, for the layer need not see its parts.
func (a *atomicQueue) replace(list []any, resourceVersion string) error {
	switch {
	case a.front.transform == nil:
	case a.keeps:
		list = a.transformedOrKept(list)
	default:
		var err error
		if list, err = a.transformed(list); err != nil {
			return err
		}
	}
	return a.queue.Replace([]queued{{obj: list}}, nil, resourceVersion)
}

func (a *atomicQueue) transformed(list []any) ([]any, error) {
	out := make([]any, len(list))
	for i, obj := range list {
		var err error
		if out[i], err = a.front.transformed(obj); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// transformedOrKept reports the objects that the transform fails on.
func (a *atomicQueue) transformedOrKept(list []any) []any {
	objs, keep, err := a.front.takeList(list)
	if err != nil {
		a.front.report(err, "An object without a key is left out", "")
	}
	out := make([]any, 0, len(objs)+len(keep))
	for _, q := range objs {
		out = append(out, q.obj)
	}
	for _, key := range keep {
		out = append(out, kept{key})
	}
	return out
}

func (a *atomicQueue) resync() { _ = a.queue.Resync() }

func (a *atomicQueue) bookmark(resourceVersion string) { _ = a.queue.Bookmark(resourceVersion) }

func (a *atomicQueue) pop(limit int, process func([]Delta, bool) error) error {
	run := func(ds []deltafifo.Delta[string, queued], isInInitialList bool) error {
		deltas := make([]Delta, len(ds))
		for i := range ds {
			deltas[i] = atomicDelta(&ds[i])
		}
		return process(deltas, isInInitialList)
	}
	if limit > 1 {
		return closedErr(a.queue.PopBatch(run))
	}
	return closedErr(a.queue.Pop(func(d deltafifo.Delta[string, queued], isInInitialList bool) error {
		return run([]deltafifo.Delta[string, queued]{d}, isInInitialList)
	}))
}

func atomicDelta(d *deltafifo.Delta[string, queued]) Delta {
	switch d.Type {
	case deltafifo.ReplacedAll:
		list := d.Bulk.Items[0].Obj.obj.([]any)
		return Delta{Type: ReplacedAll, Object: ReplacedAllInfo{ResourceVersion: d.Bulk.ResourceVersion, Objects: list}}
	case deltafifo.SyncAll:
		return Delta{Type: SyncAll, Object: SyncAllInfo{}}
	case deltafifo.Bookmark:
		return Delta{Type: Bookmark, Object: BookmarkInfo{ResourceVersion: d.Bulk.ResourceVersion}}
	default:
		return nativeDelta(d)
	}
}

func (a *atomicQueue) close() { a.queue.Close() }

func (a *atomicQueue) synced() <-chan struct{} { return a.queue.Synced() }
