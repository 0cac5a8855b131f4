package cache

import (
	"time"

	"glasswatch/deltafifo"
)

// atomicQueue is a RealFIFO with AtomicEvents.
type atomicQueue struct {
	front *front
	queue *deltafifo.InOrder[string, queued]
}

func newAtomicQueue(front *front, m queueMetrics) *atomicQueue {
	native := deltafifo.Options[string, queued]{KeyFunc: queued.keyOf, BatchSize: maxBatch}
	if m.queued != nil {
		native.Metrics.Queued = m.setQueued
	}
	if m.latency != nil {
		native.Metrics.Processed = func(took time.Duration) { m.observe(took.Seconds()) }
	}
	return &atomicQueue{front: front, queue: deltafifo.NewInOrder(native)}
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
	if a.front.transform != nil {
		transformed := make([]any, len(list))
		for i, obj := range list {
			var err error
			if transformed[i], err = a.front.transformed(obj); err != nil {
				return err
			}
		}
		list = transformed
	}
	return a.queue.Replace([]queued{{obj: list}}, nil, resourceVersion)
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
