package deltafifo

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// script draws operations and plays them to a queue and its model.
type script struct {
	t           *rapid.T
	impl, model producer
	versions    int
	things      []*thing
}

// thing draws an object: mostly a good one, sometimes nameless, failing or panicking in its transform.
func (s *script) thing() *thing {
	s.versions++
	th := &thing{name: s.key(), version: s.versions}
	switch rapid.IntRange(0, 15).Draw(s.t, "flaw") {
	case 15:
		th.name = ""
	case 14:
		th.failing = true
	case 13:
		th.panicking = true
	}
	s.things = append(s.things, th)
	return th
}

func (s *script) key() string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(s.t, "key")
}

// putter is a producer that takes many events at once.
type putter interface{ PutAll([]delta) []error }

// putAll draws a batch of events. The queue fills in all but their types and objects, so those are full of rubbish.
func (s *script) putAll(impl, model putter) {
	var ds []delta
	for range rapid.IntRange(0, 5).Draw(s.t, "events") {
		typ := rapid.SampledFrom([]DeltaType{Added, Updated, Deleted}).Draw(s.t, "type")
		ds = append(ds, delta{
			Type: typ, Obj: s.thing(),
			Key: "rubbish", Missing: true, FinalStateUnknown: true, Bulk: &Bulk[string, *thing]{},
		})
	}
	got, want := impl.PutAll(slices.Clone(ds)), model.PutAll(ds)
	if len(got) != len(want) {
		s.t.Fatalf("errors %v, the model has %v", got, want)
	}
	for i := range got {
		if (got[i] == nil) != (want[i] == nil) {
			s.t.Fatalf("error %v, the model has %v", got[i], want[i])
		}
	}
}

// step draws one operation of a producer.
func (s *script) step() {
	if impl, ok := s.impl.(putter); ok && rapid.IntRange(0, 4).Draw(s.t, "many") == 0 {
		s.putAll(impl, s.model.(putter))
		return
	}
	var do func(p producer) error
	switch op := rapid.IntRange(0, 9).Draw(s.t, "op"); op {
	case 0, 1:
		th := s.thing()
		do = func(p producer) error { return p.Add(th) }
	case 2, 3:
		th := s.thing()
		do = func(p producer) error { return p.Update(th) }
	case 4, 5:
		th := s.thing()
		do = func(p producer) error { return p.Delete(th) }
	case 6:
		key := s.key()
		do = func(p producer) error { return p.DeleteKey(key) }
	case 7:
		var list []*thing
		for range rapid.IntRange(0, 4).Draw(s.t, "objects") {
			list = append(list, s.thing())
		}
		var keep []string
		for range rapid.IntRange(0, 2).Draw(s.t, "kept") {
			keep = append(keep, s.key())
		}
		do = func(p producer) error { return p.Replace(list, keep, fmt.Sprint(s.versions)) }
	case 8:
		do = producer.Resync
	case 9:
		do = func(p producer) error { return p.Bookmark(fmt.Sprint(s.versions)) }
	}
	if got, want := do(s.impl), do(s.model); (got == nil) != (want == nil) {
		s.t.Fatalf("error %v, the model has %v", got, want)
	}
}

// transform is the Transform of the models' queues.
func transform(t *thing) (*thing, error) {
	t.transformed++
	if t.panicking {
		panic("a bug in the transform")
	}
	if t.failing {
		return t, fmt.Errorf("cannot transform %v", t)
	}
	return t, nil
}

// check compares what can be seen from outside, and how often each object was transformed.
func (s *script) check(gotErrors, wantErrors []string) {
	for _, th := range s.things {
		if want := min(1, len(th.name)); th.transformed != want {
			s.t.Fatalf("%v was transformed %d times, not %d", th, th.transformed, want)
		}
	}
	if got, want := s.impl.Len(), s.model.Len(); got != want {
		s.t.Fatalf("Len is %d, the model's %d", got, want)
	}
	if got, want := s.impl.HasSynced(), s.model.HasSynced(); got != want {
		s.t.Fatalf("HasSynced is %v, the model's %v", got, want)
	}
	if !slices.Equal(gotErrors, wantErrors) {
		s.t.Fatalf("errors of %v, the model's of %v", gotErrors, wantErrors)
	}
}

func show(ds []delta) string {
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintf(&b, "%v %v(%v) ", d.Type, d.Key, d.Obj)
		if d.Missing {
			b.WriteString("missing ")
		}
		if d.FinalStateUnknown {
			b.WriteString("unknown ")
		}
		if d.Bulk != nil {
			fmt.Fprintf(&b, "%v ", *d.Bulk)
		}
	}
	return strings.TrimSpace(b.String())
}
