package deltafifo

import (
	"testing"

	"pgregory.net/rapid"
)

// inOrderModel is an InOrder that is one slice.
type inOrderModel struct {
	batchSize int
	repeat    bool // keys may, in a batch
	events    []delta
	// taken is how many of the events came before the last time that the consumer had used up what it had taken: a batch
	// does not reach beyond.
	taken int
	// first is the number of events to process till synced, -1 before anything came.
	first  int
	errors []string
}

func (m *inOrderModel) event() {
	if m.first < 0 {
		m.first = 0
	}
}

func (m *inOrderModel) one(typ DeltaType, t *thing) error {
	ok, err := comes(t, &m.errors)
	if err != nil {
		return err
	}
	m.event()
	if ok {
		m.events = append(m.events, delta{Type: typ, Key: t.name, Obj: t})
	} else if typ == Deleted {
		m.events = append(m.events, delta{Type: typ, Key: t.name, Missing: true})
	}
	return nil
}

func (m *inOrderModel) Add(t *thing) error    { return m.one(Added, t) }
func (m *inOrderModel) Update(t *thing) error { return m.one(Updated, t) }
func (m *inOrderModel) Delete(t *thing) error { return m.one(Deleted, t) }

func (m *inOrderModel) PutAll(ds []delta) []error {
	errs, failed := make([]error, len(ds)), false
	for i, d := range ds {
		errs[i] = m.one(d.Type, d.Obj)
		failed = failed || errs[i] != nil
	}
	if !failed {
		return nil
	}
	return errs
}

func (m *inOrderModel) DeleteKey(key string) error {
	m.event()
	m.events = append(m.events, delta{Type: Deleted, Key: key, Missing: true, FinalStateUnknown: true})
	return nil
}

func (m *inOrderModel) Replace(ts []*thing, keep []string, rv string) error {
	var bad error
	bulk := &Bulk[string, *thing]{ResourceVersion: rv}
	for _, t := range ts {
		if ok, err := comes(t, &m.errors); err != nil {
			bad = err
		} else if ok {
			bulk.Items = append(bulk.Items, Item[string, *thing]{Key: t.name, Obj: t})
		} else {
			bulk.Items = append(bulk.Items, Item[string, *thing]{Key: t.name, Keep: true})
		}
	}
	for _, key := range keep {
		bulk.Items = append(bulk.Items, Item[string, *thing]{Key: key, Keep: true})
	}
	m.events = append(m.events, delta{Type: ReplacedAll, Bulk: bulk})
	if m.first < 0 {
		m.first = len(m.events)
	}
	return bad
}

func (m *inOrderModel) Resync() error {
	m.events = append(m.events, delta{Type: SyncAll})
	return nil
}

func (m *inOrderModel) Bookmark(rv string) error {
	m.events = append(m.events, delta{Type: Bookmark, Bulk: &Bulk[string, *thing]{ResourceVersion: rv}})
	return nil
}

func (m *inOrderModel) Close()          {}
func (m *inOrderModel) Len() int        { return len(m.events) }
func (m *inOrderModel) HasSynced() bool { return m.first == 0 }

// batch returns the events that the next PopBatch must hand out.
func (m *inOrderModel) batch() []delta {
	seen := map[string]bool{}
	for i, d := range m.events[:m.taken] {
		bulk := d.Type == ReplacedAll || d.Type == SyncAll || d.Type == Bookmark
		if bulk && i == 0 {
			return m.events[:1]
		}
		if bulk || seen[d.Key] && !m.repeat || i == m.batchSize {
			return m.events[:i]
		}
		seen[d.Key] = true
	}
	return m.events[:m.taken]
}

func (m *inOrderModel) processed(n int) {
	m.events = m.events[n:]
	m.taken -= n
	if m.first > 0 {
		m.first -= n
	}
}

func TestInOrder_BehavesLikeItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := &inOrderModel{batchSize: rapid.IntRange(1, 6).Draw(t, "batch size"), repeat: rapid.Bool().Draw(t, "repeat"), first: -1}
		var failed []string
		impl := NewInOrder(Options[string, *thing]{
			KeyFunc: nameOf, Transform: transform, BatchSize: model.batchSize, KeysMayRepeat: model.repeat,
			OnError: func(key string, _ error) { failed = append(failed, key) },
		})
		s := &script{t: t, impl: impl, model: model}
		closed := false
		produce := func(t *rapid.T) { s.t = t; s.step() }
		pop := func(t *rapid.T) { s.t = t; popBothInOrders(s, impl, model, closed) }
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				s.t = t
				s.check(failed, model.errors)
				if err := impl.checkInvariants(); err != nil {
					t.Fatal(err)
				}
			},
			"produce": produce, "produce2": produce, "produce3": produce,
			"pop": pop, "pop2": pop,
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					impl.Close()
					closed = true
				}
			},
		})
	})
}

// popBothInOrders pops one event or a batch of both, and compares. While it is processed, producers go on, unless the
// queue holds them; some process functions fail, some panic, some pop again.
func popBothInOrders(s *script, impl *queue, model *inOrderModel, closed bool) {
	t := s.t
	if model.Len() == 0 {
		if closed {
			if err := impl.PopBatch(nil); err != ErrClosed {
				t.Fatalf("closed and empty: %v", err)
			}
		}
		return
	}
	if model.taken == 0 {
		model.taken = model.Len()
	}
	single := rapid.Bool().Draw(t, "single")
	want := model.batch()
	if single {
		want = model.events[:1]
	}
	wantInitial := !model.HasSynced()
	held := len(model.events)-len(want) >= 2*model.batchSize && !closed
	process := func(got []delta, initial bool, end func() error) error {
		if show(got) != show(want) || initial != wantInitial || cap(got) != len(got) {
			t.Fatalf("popped %v %v, the model has %v %v", show(got), initial, show(want), wantInitial)
		}
		for range rapid.IntRange(0, 3).Draw(t, "meanwhile") {
			if !held {
				s.step()
			}
		}
		if err := impl.Pop(nil); err != ErrPopInProgress {
			t.Fatalf("a pop within a pop: %v", err)
		}
		if impl.HasSynced() != model.HasSynced() || impl.Len() != model.Len() {
			t.Fatalf("synced %v, len %d, the model has %v, %d", impl.HasSynced(), impl.Len(), model.HasSynced(), model.Len())
		}
		return end()
	}
	err := drawOutcome(t).of(func(end func() error) error {
		if single {
			return impl.Pop(func(d delta, initial bool) error { return process([]delta{d}, initial, end) })
		}
		return impl.PopBatch(func(ds []delta, initial bool) error { return process(ds, initial, end) })
	})
	if err != nil {
		t.Fatal(err)
	}
	model.processed(len(want))
}
