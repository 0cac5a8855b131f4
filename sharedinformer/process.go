package sharedinformer

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/deltafifo"
	"glasswatch/internal/keys"
	"glasswatch/internal/shrink"
	"glasswatch/listwatch"
)

// fullBatch is how many operations and notifications a full batch of the in-order queue needs.
const fullBatch = 2000

// apply takes a batch over, in which a bulk delta is alone. It is called by the consumer only, and changes the store in
// one step. notes say, in order, what handlers are to be told; they are valid until endBatch. version is the
// resourceVersion that the store has reached, "" if that is not known.
func (m *mirror[T]) apply(batch []delta[T], isInInitialList bool) (notes []notification[T], version string) {
	ofList := &delta[T]{Missing: true} // in place of each change's own: a list has no version of what it lacks
	notNewer := false                  // than the store: then equal versions in the list do not prove equal objects
	switch list := batch[0].Bulk; batch[0].Type {
	case deltafifo.SyncAll:
		for _, obj := range m.store.All() {
			n := notification[T]{kind: updated, old: obj, obj: obj, sameVersion: true, resync: true}
			m.notes = append(m.notes, n)
		}
		return m.notes, ""
	case deltafifo.Bookmark:
		m.newest = list.ResourceVersion
		m.store.Bookmark(m.newest)
		return nil, m.newest
	case deltafifo.ReplacedAll:
		version = list.ResourceVersion
		// A list that is not newer than the store may be that of a server that was restored from a backup.
		notNewer, _ = hasReached(m.store.ResourceVersion(), version)
		m.newest = version
		m.replace(list.Items)
		batch = nil
	default:
		for j := range batch {
			d := &batch[j]
			m.ops = append(m.ops, storeOp[T]{Key: d.Key, Obj: d.Obj, Delete: d.Type == deltafifo.Deleted})
			if !m.versionsByEvent || d.Missing {
				continue
			}
			// A tombstone carries an older version, and so does what some servers send for a deletion.
			v := d.Obj.GetResourceVersion()
			if order, err := resourceversion.CompareResourceVersion(v, m.newest); v != "" && (err != nil || order > 0) {
				m.newest, version = v, v
			}
		}
	}
	if tell := m.opts.BeforeStore; tell != nil {
		for _, op := range m.ops {
			var obj object
			if !op.Delete {
				obj = op.Obj
			}
			tell(op.Key, obj)
		}
	}
	m.store.Apply(m.ops, version)
	for j := range m.ops {
		d := ofList
		if batch != nil {
			d = &batch[j]
		}
		m.noteChange(&m.ops[j], d, isInInitialList, notNewer)
	}
	return m.notes, version
}

// noteChange turns what the store says of op into the handlers' view of it.
func (m *mirror[T]) noteChange(op *storeOp[T], d *delta[T], isInInitialList, notNewer bool) {
	n := notification[T]{old: op.Old, obj: op.Obj}
	switch {
	case op.Delete && !op.Existed:
		return // handlers never knew of it, as when its every version failed to transform
	case op.Delete && d.Missing:
		n.kind, n.obj, n.unknownState = deleted, op.Old, true
	case op.Delete:
		n.kind, n.unknownState = deleted, d.FinalStateUnknown
	case op.Existed:
		n.kind, n.resync = updated, d.Type == deltafifo.Sync
		n.sameVersion = op.Obj.GetResourceVersion() == op.Old.GetResourceVersion()
		if n.sameVersion && notNewer {
			n.sameVersion = isSameState(op.Old, op.Obj)
		}
	default:
		n.kind, n.initial = added, isInInitialList
	}
	m.notes = append(m.notes, n)
}

// replace makes the operations that leave the store with a list: first the deletions, in the order of their keys.
func (m *mirror[T]) replace(items []deltafifo.Item[key, T]) {
	listed := make(map[key]bool, len(items))
	for j := range items {
		listed[items[j].Key] = true
	}
	for k := range m.store.All() {
		if !listed[k] {
			m.ops = append(m.ops, storeOp[T]{Key: k, Delete: true})
		}
	}
	slices.SortFunc(m.ops, func(x, y storeOp[T]) int { return keys.Compare(x.Key, y.Key) })
	m.ops = slices.Grow(m.ops, len(items))
	for j := range items {
		if item := &items[j]; !item.Keep {
			m.ops = append(m.ops, storeOp[T]{Key: item.Key, Obj: item.Obj})
		}
	}
}

// endBatch zeroes the scratch, so that it keeps no object alive, and keeps it unless it is large. Then it reports what
// failed. No lock may be held.
func (m *mirror[T]) endBatch() {
	clear(m.ops)
	clear(m.notes)
	m.ops, m.notes = m.ops[:0], m.notes[:0]
	if shrink.IsDue(cap(m.ops)+cap(m.notes), fullBatch) {
		m.ops, m.notes = nil, nil
	}
	m.reportFailures()
}

// equalities compare objects by what they say. A Quantity behind a pointer is compared in place: a handler that prints
// it at this moment writes to its text.
var equalities = func() conversion.Equalities {
	e := equality.Semantic.Copy()
	utilruntime.Must(e.AddFunc(func(a, b *quantity.Quantity) bool {
		return a == b || a != nil && b != nil && a.Cmp(*b) == 0
	}))
	return e
}()

// isSameState compares two objects of one version. What cannot be compared, such as fields that are not exported,
// counts as different.
func isSameState(a, b any) (same bool) {
	defer func() { _ = recover() }()
	return equalities.DeepEqualWithNilDifferentFromEmpty(a, b)
}

// batchSink is an in-order queue that takes the events of a reflector as they come from a stream that has many.
type batchSink[T object] struct {
	*deltafifo.InOrder[key, T]
	deltas []delta[T] // scratch of the reflector's goroutine
}

// PutBatch implements reflector.BatchSink.
func (s *batchSink[T]) PutBatch(events []listwatch.Event[T]) []error {
	deltas := s.deltas[:0]
	for _, e := range events { // the types of objects' events have the same numbers in both packages
		deltas = append(deltas, delta[T]{Type: deltafifo.DeltaType(e.Type), Obj: e.Object})
	}
	errs := s.PutAll(deltas)
	clear(deltas) // it keeps no object alive
	s.deltas = deltas
	return errs
}
