package deltafifo

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// producer is the half of a queue that the reflector sees; the queues and their models have it.
type producer interface {
	Add(*thing) error
	Update(*thing) error
	Delete(*thing) error
	DeleteKey(string) error
	Replace([]*thing, []string, string) error
	Resync() error
	Bookmark(string) error
	Close()
	Len() int
	HasSynced() bool
}

// storeModel is a consumer's store. Keys that are in it with a nil thing are listed and cannot be got.
type storeModel struct {
	keys   []string
	things map[string]*thing
}

func newStoreModel() *storeModel { return &storeModel{things: map[string]*thing{}} }

func (s *storeModel) ListKeys() []string { return slices.Clone(s.keys) }

func (s *storeModel) GetByKey(key string) (*thing, bool) {
	t := s.things[key]
	return t, t != nil
}

func (s *storeModel) set(key string, t *thing) {
	if !slices.Contains(s.keys, key) {
		s.keys = append(s.keys, key)
	}
	s.things[key] = t
}

func (s *storeModel) remove(key string) {
	s.keys = slices.DeleteFunc(s.keys, func(k string) bool { return k == key })
	delete(s.things, key)
}

func (s *storeModel) apply(ds []delta) {
	for _, d := range ds {
		if d.Type == Deleted {
			s.remove(d.Key)
		} else {
			s.set(d.Key, d.Obj)
		}
	}
}

// fifoModel is a DeltaFIFO that never heard of speed: one flat list of deltas.
type fifoModel struct {
	store  *storeModel
	keys   []string
	deltas map[string][]delta
	// first is the number of keys to pop till synced, -1 before anything came.
	first  int
	errors []string
}

func (m *fifoModel) event() {
	if m.first < 0 {
		m.first = 0
	}
}

func (m *fifoModel) put(d delta) {
	if !slices.Contains(m.keys, d.Key) {
		m.keys = append(m.keys, d.Key)
	}
	list := m.deltas[d.Key]
	if n := len(list); n > 0 && d.Type == Deleted && list[n-1].Type == Deleted {
		if knows(d) > knows(list[n-1]) || knows(d) == knows(list[n-1]) && d.FinalStateUnknown {
			list[n-1] = d
		}
	} else {
		list = append(list, d)
	}
	m.deltas[d.Key] = list
}

// knows ranks deletions by how much they know of the object's end.
func knows(d delta) int {
	switch {
	case d.Missing && d.FinalStateUnknown:
		return 0
	case d.Missing:
		return 1
	case d.FinalStateUnknown:
		return 2
	}
	return 3
}

// comes tells whether an object gets through key function and transform, and notes the transform's error.
func comes(t *thing, errs *[]string) (ok bool, err error) {
	if _, err := nameOf(t); err != nil {
		return false, err
	}
	if t.failing || t.panicking {
		*errs = append(*errs, t.name)
		return false, nil
	}
	return true, nil
}

func (m *fifoModel) one(typ DeltaType, t *thing) error {
	ok, err := comes(t, &m.errors)
	if err != nil {
		return err
	}
	m.event()
	_, known := m.store.GetByKey(t.name)
	switch {
	case typ == Deleted && !known && !slices.Contains(m.keys, t.name):
	case ok:
		m.put(delta{Type: typ, Key: t.name, Obj: t})
	case typ == Deleted:
		m.put(delta{Type: typ, Key: t.name, Missing: true})
	}
	return nil
}

func (m *fifoModel) Add(t *thing) error    { return m.one(Added, t) }
func (m *fifoModel) Update(t *thing) error { return m.one(Updated, t) }
func (m *fifoModel) Delete(t *thing) error { return m.one(Deleted, t) }

func (m *fifoModel) bury(key string) {
	last := m.store.things[key]
	if list := m.deltas[key]; len(list) > 0 {
		last = list[len(list)-1].Obj
	}
	m.put(delta{Type: Deleted, Key: key, Obj: last, Missing: last == nil, FinalStateUnknown: true})
}

func (m *fifoModel) DeleteKey(key string) error {
	m.event()
	if _, known := m.store.GetByKey(key); known || slices.Contains(m.keys, key) {
		m.bury(key)
	}
	return nil
}

func (m *fifoModel) DeleteUnknown(key string, t *thing) {
	m.event()
	if _, known := m.store.GetByKey(key); known || slices.Contains(m.keys, key) {
		m.put(delta{Type: Deleted, Key: key, Obj: t, FinalStateUnknown: true})
	}
}

func (m *fifoModel) Replace(ts []*thing, keep []string, _ string) error {
	present := slices.Clone(keep)
	var bad error
	for _, t := range ts {
		ok, err := comes(t, &m.errors)
		if err != nil {
			bad = err
			continue
		}
		present = append(present, t.name)
		if ok {
			m.put(delta{Type: Replaced, Key: t.name, Obj: t})
		}
	}
	for _, key := range append(slices.Clone(m.keys), m.store.keys...) {
		if !slices.Contains(present, key) {
			m.bury(key)
		}
	}
	if m.first < 0 {
		m.first = len(m.keys)
	}
	return bad
}

func (m *fifoModel) Resync() error {
	for _, key := range m.store.keys {
		if t := m.store.things[key]; t != nil && !slices.Contains(m.keys, key) {
			m.put(delta{Type: Sync, Key: key, Obj: t})
		}
	}
	return nil
}

func (m *fifoModel) Bookmark(string) error { return nil }
func (m *fifoModel) Close()                {}
func (m *fifoModel) Len() int              { return len(m.keys) }
func (m *fifoModel) HasSynced() bool       { return m.first == 0 }

func (m *fifoModel) pop() (string, []delta) {
	key := m.keys[0]
	list := m.deltas[key]
	m.keys = m.keys[1:]
	delete(m.deltas, key)
	return key, list
}

func (m *fifoModel) processed(n int) {
	if m.first > 0 {
		m.first -= n
	}
}

func TestDeltaFIFO_BehavesLikeItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := newStoreModel()
		model := &fifoModel{store: store, deltas: map[string][]delta{}, first: -1}
		var failed []string
		impl := NewDeltaFIFO(Options[string, *thing]{
			KeyFunc: nameOf, Known: store, Transform: transform,
			OnError: func(key string, _ error) { failed = append(failed, key) },
		})
		s := &script{t: t, impl: impl, model: model}
		closed := false
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				s.t = t
				s.check(failed, model.errors)
				if err := impl.checkInvariants(); err != nil {
					t.Fatal(err)
				}
			},
			"produce":  func(t *rapid.T) { s.t = t; s.step() },
			"produce2": func(t *rapid.T) { s.t = t; s.step() },
			"delete unknown": func(t *rapid.T) {
				s.t = t
				s.versions++
				last := &thing{name: s.key(), version: s.versions} // not among the things that are transformed
				if err := impl.DeleteUnknown(last.name, last); err != nil {
					t.Fatal(err)
				}
				model.DeleteUnknown(last.name, last)
			},
			"pop":  func(t *rapid.T) { popBothFIFOs(t, impl, model, closed) },
			"pop2": func(t *rapid.T) { popBothFIFOs(t, impl, model, closed) },
			"lose an object from the store": func(t *rapid.T) {
				if len(store.keys) > 0 {
					store.set(rapid.SampledFrom(store.keys).Draw(t, "lost"), nil)
				}
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					impl.Close()
					closed = true
				}
			},
		})
	})
}

// popBothFIFOs pops a key of both, and compares. Some process functions fail, some panic.
func popBothFIFOs(t *rapid.T, impl *fifo, model *fifoModel, closed bool) {
	if model.Len() == 0 {
		if closed {
			if err := impl.Pop(nil); err != ErrClosed {
				t.Fatalf("closed and empty: %v", err)
			}
		}
		return
	}
	wantInitial := !model.HasSynced()
	wantKey, want := model.pop()
	outcome := drawOutcome(t)
	err := outcome.of(func(process func() error) error {
		return impl.Pop(func(key string, ds []delta, initial bool) error {
			if key != wantKey || show(ds) != show(want) || initial != wantInitial {
				t.Fatalf("popped %v %v %v, the model has %v %v %v", key, show(ds), initial, wantKey, show(want), wantInitial)
			}
			if impl.HasSynced() == wantInitial {
				t.Fatalf("HasSynced changed before the last entry was processed")
			}
			model.store.apply(ds)
			return process()
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	model.processed(1)
}

// outcome is how a process function ends.
type outcome int

func drawOutcome(t *rapid.T) outcome {
	return outcome(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(t, "outcome"))
}

// of runs pop with a process function that ends so, and returns what is wrong with how pop ended.
func (o outcome) of(pop func(process func() error) error) (err error) {
	failure := fmt.Errorf("the process function failed")
	switch o {
	case 1:
		if err := pop(func() error { return failure }); err != failure {
			return fmt.Errorf("the process function's error is lost: %v", err)
		}
		return nil
	case 2:
		defer func() {
			if recover() == nil {
				err = fmt.Errorf("the process function's panic is lost")
			}
		}()
		return pop(func() error { panic("a bug in the consumer") })
	}
	return pop(func() error { return nil })
}
