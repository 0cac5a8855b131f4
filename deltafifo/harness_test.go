package deltafifo

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// thing is the object of most tests: a name, a version, and what is wrong with it.
type thing struct {
	name    string
	version int
	// transformed counts how often the transform saw it.
	transformed int
	// failing makes the transform fail, panicking makes it panic.
	failing, panicking bool
}

var errNoName = errors.New("it has no name")

func nameOf(t *thing) (string, error) {
	if t.name == "" {
		return "", errNoName
	}
	return t.name, nil
}

func (t *thing) String() string {
	if t == nil {
		return "-"
	}
	return fmt.Sprintf("%s@%d", t.name, t.version)
}

type (
	delta = Delta[string, *thing]
	fifo  = DeltaFIFO[string, *thing]
	queue = InOrder[string, *thing]
)

// v makes an object.
func v(name string, version int) *thing { return &thing{name: name, version: version} }

// failing makes an object whose transform fails.
func failing(name string, version int) *thing {
	return &thing{name: name, version: version, failing: true}
}

func newFIFO(store *storeModel) *fifo {
	return NewDeltaFIFO(Options[string, *thing]{KeyFunc: nameOf, Known: store, Transform: transform})
}

func newQueue(batchSize int) *queue {
	return NewInOrder(Options[string, *thing]{KeyFunc: nameOf, Transform: transform, BatchSize: batchSize})
}

// storeOf makes a store that has the objects.
func storeOf(things ...*thing) *storeModel {
	s := newStoreModel()
	for _, t := range things {
		s.set(t.name, t)
	}
	return s
}

// drain pops a DeltaFIFO till it is empty, applies the deltas to the store, and returns what it popped: a line a key.
func drain(t *testing.T, f *fifo, store *storeModel) []string {
	t.Helper()
	return drainAs(t, f, store, showPop)
}

// drainAs is drain with another way to print what a Pop takes.
func drainAs(t *testing.T, f *fifo, store *storeModel, text func(ds []delta, initial bool) string) []string {
	t.Helper()
	popped := []string{}
	for f.Len() > 0 {
		err := f.Pop(func(_ string, ds []delta, initial bool) error {
			store.apply(ds)
			popped = append(popped, text(ds, initial))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return popped
}

// batches pops an InOrder till it is empty: a line a batch.
func batches(t *testing.T, q *queue) []string {
	t.Helper()
	return batchesAs(t, q, showPop)
}

// batchesAs is batches with another way to print what a PopBatch takes.
func batchesAs(t *testing.T, q *queue, text func(ds []delta, initial bool) string) []string {
	t.Helper()
	popped := []string{}
	for q.Len() > 0 {
		err := q.PopBatch(func(ds []delta, initial bool) error {
			popped = append(popped, text(ds, initial))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return popped
}

func showPop(ds []delta, initial bool) string { return flagged(show(ds), initial) }

func flagged(what string, initial bool) string {
	if initial {
		return what + " [initial]"
	}
	return what
}

func ignoreDeltas(string, []delta, bool) error { return nil }
func ignoreBatch([]delta, bool) error          { return nil }
