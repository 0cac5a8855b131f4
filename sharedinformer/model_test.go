package sharedinformer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// world is the store that the backlog models hear of: it makes legal notifications.
type world struct {
	objects map[string]*config
	version int
}

func (w *world) object(name string, uid types.UID) *config {
	w.version++
	obj := &config{}
	obj.Namespace, obj.Name, obj.UID, obj.ResourceVersion = "default", name, uid, fmt.Sprint(w.version)
	return obj
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

func noError() error { return nil }

// plainRule is the dumb rule without folding: everything, in order.
type plainRule struct {
	pending []notification[*config]
}

func TestBacklog_FoldingFollowsTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newListener(newRegistration("r", nil, noError), Handler[*config](HandlerFuncs[*config]{}), HandlerOptions{Fold: true})
		w := &world{objects: map[string]*config{}}
		m := &foldRule{given: map[string]*config{}, newest: map[string]*config{}, ending: map[string]notification[*config]{}, initial: map[string]bool{}}
		initial := rapid.Bool().Draw(t, "during the initial list")
		tell := func(ns ...notification[*config]) {
			for _, n := range ns {
				m.tell(n)
			}
			if !l.append(ns) {
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
			"remove":  func(t *rapid.T) { tell(w.remove(existing(t), rapid.Bool().Draw(t, "unseen"))) },
			"resync": func(t *rapid.T) {
				obj := w.objects[existing(t)]
				tell(notification[*config]{kind: updated, old: obj, obj: obj, sameVersion: true})
			},
			"sync": func(*rapid.T) { initial = false; l.markUpstreamSynced() },
			"deliver": func(t *rapid.T) {
				if len(m.pending) == 0 {
					t.Skip("nothing waits")
				}
				want := m.next()
				got := []string{}
				for _, n := range l.next() {
					got = append(got, spell(n))
					l.settle(&n)
				}
				if !slices.Equal(want, got) {
					t.Fatalf("want %q, got %q", want, got)
				}
			},
			"": func(t *rapid.T) {
				if depth := l.Stats().Depth; depth != len(m.pending) {
					t.Fatalf("depth %d, %d wait", depth, len(m.pending))
				}
				if n := l.pendingInitial; n != len(m.initial) {
					t.Fatalf("sync count %d, %d initial adds wait", n, len(m.initial))
				}
				// Nothing initial comes after "sync".
				if want := l.upstreamSynced && len(m.initial) == 0; l.HasSynced() != want {
					t.Fatalf("synced is %v, want %v", l.HasSynced(), want)
				}
				l.folding.checkInvariants(t)
			},
		})
	})
}

func TestBacklog_WithoutFoldingEverythingArrivesInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newListener(newRegistration("r", nil, noError), Handler[*config](HandlerFuncs[*config]{}), HandlerOptions{})
		l.due = rapid.SampledFrom([]resyncState{neverChecked, notDue, isDue}).Draw(t, "due a resync")
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
							again := notification[*config]{kind: updated, old: obj, obj: obj, sameVersion: true}
							again.resync = rapid.Bool().Draw(t, "a resync rather than a relist")
							batch = append(batch, again)
						}
					default:
						batch = append(batch, w.put(n, false))
					}
				}
				for _, n := range batch {
					if !n.sameVersion || l.due == isDue || l.due == neverChecked && !n.resync {
						m.pending = append(m.pending, n)
					}
				}
				l.append(batch)
			},
			"deliver": func(t *rapid.T) {
				if len(m.pending) == 0 {
					t.Skip("nothing waits")
				}
				got := l.next()
				if len(got) != len(m.pending) {
					t.Fatalf("%d taken, %d wait", len(got), len(m.pending))
				}
				for i := range got {
					if spell(got[i]) != spell(m.pending[i]) {
						t.Fatalf("want %q, got %q", spell(m.pending[i]), spell(got[i]))
					}
					l.settle(&got[i])
					got[i] = notification[*config]{}
				}
				m.pending = nil
			},
			"": func(t *rapid.T) {
				if depth := l.Stats().Depth; depth != len(m.pending) {
					t.Fatalf("depth %d, %d wait", depth, len(m.pending))
				}
			},
		})
	})
}

// scene is one verb of a random history.
type scene struct {
	Verb string
	Name string
	N    int
}

var sceneGen = rapid.Custom(func(t *rapid.T) scene {
	return scene{
		Verb: rapid.SampledFrom([]string{"put", "put", "put", "delete", "recreate", "break", "compact", "unobserved",
			"join", "join folding", "leave", "drain", "settle", "pass", "garble"}).Draw(t, "verb"),
		Name: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"),
		N:    rapid.IntRange(0, 400).Draw(t, "n"),
	}
})

// member is one handler of a random history.
type member struct {
	*recorder
	reg   *Registration
	fold  bool
	early bool
	gone  bool
}

func TestInformer_EveryHandlerSeesTheStoreInEveryHistory(t *testing.T) {
	for _, kind := range []QueueKind{InOrder, PerKey} {
		t.Run(kind.String(), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				script := rapid.SliceOfN(sceneGen, 1, 60).Draw(rt, "script")
				resync := rapid.SampledFrom([]time.Duration{0, 2 * time.Second}).Draw(rt, "resync")
				var problem error
				synctest.Test(t, func(t *testing.T) { problem = play(t, kind, resync, script) })
				if problem != nil {
					rt.Fatal(problem)
				}
			})
		})
	}
}

// play runs a script and judges its end.
func play(t *testing.T, kind QueueKind, resync time.Duration, script []scene) error {
	opts := Options[*config]{Queue: kind, ResyncPeriod: resync, WatchErrorHandler: func(context.Context, error) {}, OnObjectError: func(listwatch.Key, error) {}}
	opts.Reflector = reflector.Options{DisableStreamingList: true, Backoff: reflector.Backoff{Base: 100 * time.Millisecond, Max: time.Second}}
	s := &story{T: t, server: newServer()}
	s.informer = New(s.server, opts)
	defer s.Stop()
	var members []*member
	join := func(sc scene, early bool) {
		m := &member{recorder: newRecorder(), fold: strings.HasSuffix(sc.Verb, "folding"), early: early}
		if pause := time.Duration(sc.N%4) * 50 * time.Millisecond; pause > 0 {
			m.during = func(string) { <-time.After(pause) }
		}
		var err error
		if m.reg, err = s.informer.AddHandler(m, HandlerOptions{Fold: m.fold}); err != nil {
			t.Error(err)
		}
		members = append(members, m)
	}
	join(scene{Verb: "join", N: 0}, true)
	join(scene{Verb: "join", N: 1}, true)
	join(scene{Verb: "join folding", N: 3}, true)
	s.Start()
	for _, sc := range script {
		switch sc.Verb {
		case "put":
			s.server.Put(sc.Name, fmt.Sprint(sc.N))
		case "delete":
			s.server.Delete(sc.Name)
		case "recreate":
			s.server.Delete(sc.Name)
			s.server.Put(sc.Name, "again")
		case "break":
			s.server.BreakWatch()
		case "compact":
			s.server.Compact()
		case "unobserved":
			s.server.Unobserved(func() {
				s.server.Delete(sc.Name)
				if sc.N%2 == 0 {
					s.server.Put(sc.Name, "unobserved")
				}
			})
		case "garble":
			s.server.Garble(sc.Name, true)
			s.server.Put(sc.Name, "garbled")
			s.server.Garble(sc.Name, sc.N%2 == 0)
		case "join", "join folding":
			join(sc, false)
		case "leave", "drain":
			m := members[sc.N%len(members)]
			leave := s.informer.RemoveHandler
			if sc.Verb == "drain" {
				leave = s.informer.DrainHandler
			}
			if err := leave(m.reg); err != nil {
				t.Error(err)
			}
			m.gone = true
		case "settle":
			synctest.Wait()
		case "pass":
			<-time.After(time.Duration(sc.N) * time.Millisecond)
		}
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.server.Garble(name, false)
		s.server.Put(name, "heal")
	}
	s.server.Delete("d")
	<-time.After(time.Minute + 7*time.Millisecond) // not a multiple of the resync period
	synctest.Wait()
	return judge(s, members, resync)
}

func judge(s *story, members []*member, resync time.Duration) error {
	var problems []error
	s.informer.checkInvariants(s.T)
	want := fmt.Sprint(s.server.versions())
	store := map[string]string{}
	for k, obj := range s.informer.Store().Snapshot().All() {
		store[k.Name] = obj.ResourceVersion
	}
	if have := fmt.Sprint(store); have != want {
		problems = append(problems, fmt.Errorf("the server has %s, the store %s", want, have))
	}
	var first *member
	for n, m := range members {
		if len(m.lies) > 0 {
			problems = append(problems, fmt.Errorf("handler %d: illegal: %q", n, m.lies))
		}
		if m.gone {
			if !isClosed(m.reg.Done()) {
				problems = append(problems, fmt.Errorf("handler %d is gone, but not done", n))
			}
			continue
		}
		if view := fmt.Sprint(m.believes()); view != want {
			problems = append(problems, fmt.Errorf("handler %d believes %s, the server has %s", n, view, want))
		}
		if stats := m.reg.Stats(); !stats.Synced || resync == 0 && stats.Depth != 0 {
			problems = append(problems, fmt.Errorf("handler %d: %+v", n, stats))
		}
		if !m.early || m.fold || resync != 0 {
			continue
		}
		if first == nil {
			first = m
		} else if !slices.Equal(first.log, m.log) {
			problems = append(problems, fmt.Errorf("two handlers were told different stories:\n%q\n%q", first.log, m.log))
		}
	}
	return errors.Join(problems...)
}
