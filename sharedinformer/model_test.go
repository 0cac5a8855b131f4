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

	"pgregory.net/rapid"

	"glasswatch/listwatch"
	"glasswatch/reflector"
)

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
		t.Run(nameOf(kind), func(t *testing.T) {
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
