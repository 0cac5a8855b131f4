package sharedinformer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// world is the store that the backlog models hear of: it makes legal notifications.
type world struct {
	objects map[string]*config
	gone    map[string]types.UID // of objects that left, and may come back, as by a selector
	version int
}

func (w *world) object(name string, uid types.UID) *config {
	w.version++
	obj := &config{}
	obj.Namespace, obj.Name, obj.UID, obj.ResourceVersion = "default", name, uid, fmt.Sprint(w.version)
	return obj
}

// comeBack adds an object that left, which is still the same one.
func (w *world) comeBack(name string, initial bool) notification[*config] {
	obj := w.object(name, w.gone[name])
	w.objects[name] = obj
	return notification[*config]{kind: added, initial: initial, obj: obj}
}

// put adds or updates name.
func (w *world) put(name string, initial bool) notification[*config] {
	if old := w.objects[name]; old != nil {
		obj := w.object(name, old.UID)
		w.objects[name] = obj
		return notification[*config]{kind: updated, old: old, obj: obj}
	}
	obj := w.object(name, types.UID(fmt.Sprint("uid-", w.version)))
	w.objects[name] = obj
	return notification[*config]{kind: added, initial: initial, obj: obj}
}

// replace gives name another object without a deletion in between, as a relist may.
func (w *world) replace(name string) notification[*config] {
	old := w.objects[name]
	obj := w.object(name, types.UID(fmt.Sprint("uid-", w.version)))
	w.objects[name] = obj
	return notification[*config]{kind: updated, old: old, obj: obj}
}

// remove deletes name.
func (w *world) remove(name string, unseen bool) notification[*config] {
	old := w.objects[name]
	delete(w.objects, name)
	if w.gone != nil {
		w.gone[name] = old.UID
	}
	final := old
	if !unseen {
		final = w.object(name, old.UID)
	}
	return notification[*config]{kind: deleted, old: old, obj: final, unknownState: unseen}
}

func spell(n notification[*config]) string {
	version := func(c *config) string {
		if c == nil {
			return ""
		}
		return c.ResourceVersion
	}
	switch n.kind {
	case added:
		return fmt.Sprintf("add %s@%s %v", n.obj.Name, version(n.obj), n.initial)
	case updated:
		return fmt.Sprintf("update %s@%s→%s", n.obj.Name, version(n.old), version(n.obj))
	default:
		return fmt.Sprintf("delete %s@%s %v", n.obj.Name, version(n.obj), n.unknownState)
	}
}

// foldRule is the dumb rule: from the last given state to the newest, at the first pending place.
type foldRule struct {
	given   map[string]*config
	newest  map[string]*config
	ending  map[string]notification[*config] // the deletion of the given object
	initial map[string]bool
	pending []string
}

func (m *foldRule) tell(n notification[*config]) {
	name := n.obj.Name
	if !slices.Contains(m.pending, name) {
		m.pending = append(m.pending, name)
	}
	if n.initial {
		m.initial[name] = true
	}
	if n.kind != deleted {
		m.newest[name] = n.obj
		if d := m.given[name]; d != nil && d.UID == n.obj.UID {
			delete(m.ending, name) // it is back
		}
		return
	}
	delete(m.newest, name)
	if d := m.given[name]; d == nil {
		m.pending = slices.DeleteFunc(m.pending, func(other string) bool { return other == name })
		delete(m.initial, name)
	} else if d.UID == n.obj.UID {
		m.ending[name] = n
	}
}

func (m *foldRule) next() []string {
	name := m.pending[0]
	m.pending = m.pending[1:]
	d, n, ending, hasEnding := m.given[name], m.newest[name], m.ending[name], m.ending[name].obj != nil
	initial := m.initial[name]
	delete(m.initial, name)
	delete(m.ending, name)
	if n == nil {
		delete(m.given, name)
	} else {
		m.given[name] = n
	}
	switch {
	case d == nil:
		return []string{spell(notification[*config]{kind: added, initial: initial, obj: n})}
	case n == nil && hasEnding:
		return []string{spell(ending)}
	case n == nil:
		return []string{spell(notification[*config]{kind: deleted, obj: d, unknownState: true})}
	case d.UID != n.UID:
		return []string{
			spell(notification[*config]{kind: deleted, obj: d, unknownState: true}),
			spell(notification[*config]{kind: added, initial: initial, obj: n}),
		}
	default:
		return []string{spell(notification[*config]{kind: updated, old: d, obj: n})}
	}
}

func all(cause) bool { return true }

// plainRule is the dumb rule without folding: everything, in order.
type plainRule struct {
	pending []notification[*config]
}

func TestBacklog_FoldingFollowsTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBacklog[*config](HandlerOptions{Fold: true})
		w := &world{objects: map[string]*config{}, gone: map[string]types.UID{}}
		m := &foldRule{given: map[string]*config{}, newest: map[string]*config{}, ending: map[string]notification[*config]{}, initial: map[string]bool{}}
		initial := rapid.Bool().Draw(t, "during the initial list")
		tell := func(ns ...notification[*config]) {
			for _, n := range ns {
				m.tell(n)
			}
			if !b.add(ns, all) {
				t.Fatal("no bound was set")
			}
		}
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		existing := func(t *rapid.T) string {
			n := name.Draw(t, "name")
			if w.objects[n] == nil {
				t.Skip("not there")
			}
			return n
		}
		t.Repeat(map[string]func(*rapid.T){
			"put":     func(t *rapid.T) { tell(w.put(name.Draw(t, "name"), initial)) },
			"two":     func(t *rapid.T) { tell(w.put(name.Draw(t, "name"), initial), w.put(name.Draw(t, "name"), initial)) },
			"replace": func(t *rapid.T) { tell(w.replace(existing(t))) },
			"come back": func(t *rapid.T) {
				n := name.Draw(t, "name")
				if w.objects[n] != nil || w.gone[n] == "" {
					t.Skip("not away")
				}
				tell(w.comeBack(n, initial))
			},
			"remove": func(t *rapid.T) { tell(w.remove(existing(t), rapid.Bool().Draw(t, "unseen"))) },
			"resync": func(t *rapid.T) {
				obj := w.objects[existing(t)]
				tell(notification[*config]{kind: updated, old: obj, obj: obj})
			},
			"sync": func(*rapid.T) { initial = false; b.endInitialList() },
			"deliver": func(t *rapid.T) {
				if len(m.pending) == 0 {
					t.Skip("nothing waits")
				}
				want := m.next()
				got := []string{}
				for _, n := range b.take() {
					got = append(got, spell(n))
					b.told(&n)
				}
				if !slices.Equal(want, got) {
					t.Fatalf("want %q, got %q", want, got)
				}
			},
			"": func(t *rapid.T) {
				if depth := b.stats().Depth; depth != len(m.pending) {
					t.Fatalf("depth %d, %d wait", depth, len(m.pending))
				}
				if n := b.initialLeft; n != len(m.initial) {
					t.Fatalf("sync count %d, %d initial adds wait", n, len(m.initial))
				}
				// Nothing initial comes after "sync".
				if want := b.initialListAdded && len(m.initial) == 0; isClosed(b.synced) != want {
					t.Fatalf("synced is %v, want %v", isClosed(b.synced), want)
				}
				b.checkInvariants(t)
			},
		})
	})
}

func TestBacklog_WithoutFoldingEverythingArrivesInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBacklog[*config](HandlerOptions{})
		schedule := resyncSchedule{due: rapid.Bool().Draw(t, "is due"), checked: rapid.Bool().Draw(t, "has seen a check")}
		w := &world{objects: map[string]*config{}}
		m := &plainRule{}
		name := rapid.SampledFrom([]string{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				var batch []notification[*config]
				for range rapid.IntRange(1, 5).Draw(t, "size") {
					n := name.Draw(t, "name")
					switch rapid.IntRange(0, 3).Draw(t, "kind") {
					case 0:
						if w.objects[n] != nil {
							batch = append(batch, w.remove(n, false))
						}
					case 1:
						if obj := w.objects[n]; obj != nil {
							again := notification[*config]{kind: updated, old: obj, obj: obj, cause: repeated}
							again.cause = rapid.SampledFrom([]cause{repeated, resynced}).Draw(t, "cause")
							batch = append(batch, again)
						}
					default:
						batch = append(batch, w.put(n, false))
					}
				}
				for _, n := range batch {
					if n.cause == changed || schedule.due || n.cause == repeated && !schedule.checked {
						m.pending = append(m.pending, n)
					}
				}
				b.add(batch, schedule.wants)
			},
			"deliver": func(t *rapid.T) {
				if len(m.pending) == 0 {
					t.Skip("nothing waits")
				}
				got := b.take()
				if len(got) != len(m.pending) {
					t.Fatalf("%d taken, %d wait", len(got), len(m.pending))
				}
				for i := range got {
					if spell(got[i]) != spell(m.pending[i]) {
						t.Fatalf("want %q, got %q", spell(m.pending[i]), spell(got[i]))
					}
					b.told(&got[i])
				}
				m.pending = nil
			},
			"": func(t *rapid.T) {
				if depth := b.stats().Depth; depth != len(m.pending) {
					t.Fatalf("depth %d, %d wait", depth, len(m.pending))
				}
			},
		})
	})
}

// An object is deleted and comes back, as by a selector, and then a relist finds another one in its place: nobody saw its end.
func TestBacklog_FoldingKeepsNoDeletionThatWasTakenBack(t *testing.T) {
	b := newBacklog[*config](HandlerOptions{Fold: true})
	w := &world{objects: map[string]*config{}, gone: map[string]types.UID{}}
	deliver := func() (told []string) {
		for _, n := range b.take() {
			told = append(told, spell(n))
			b.told(&n)
		}
		return told
	}
	b.add([]notification[*config]{w.put("a", false)}, all)
	require.Equal(t, []string{"add a@1 false"}, deliver())
	b.add([]notification[*config]{w.remove("a", false), w.comeBack("a", false), w.replace("a"), w.remove("a", false)}, all)
	require.Equal(t, []string{"delete a@1 true"}, deliver())
}
