package merged

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"glasswatch/sharedinformer"
)

// mergedScene is one verb of a random history of a merged informer.
type mergedScene struct {
	Verb   string
	Name   string
	Labels []string
	View   string
	N      int
}

var mergedSceneGen = rapid.Custom(func(t *rapid.T) mergedScene {
	return mergedScene{
		Verb: rapid.SampledFrom([]string{"put", "put", "put", "put", "delete", "recreate", "pause", "resume", "step",
			"break", "relist", "bookmark", "fail", "heal", "add source", "remove source",
			"garble", "settle", "pass", "wait"}).Draw(t, "verb"),
		Name: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "name"),
		Labels: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID[string]).
			Draw(t, "labels"),
		View: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "view"),
		N:    rapid.IntRange(0, 1500).Draw(t, "n"),
	}
})

// versionWatcher is a handler that finds versions that go back.
type versionWatcher struct {
	*recorder
	newest map[key]int // ever
	back   []string
}

func (w *versionWatcher) note(obj *config, strict bool) {
	v, _ := strconv.Atoi(obj.ResourceVersion)
	k := named(obj.Name)
	w.mu.Lock()
	defer w.mu.Unlock()
	if v < w.newest[k] || strict && v == w.newest[k] {
		w.back = append(w.back, fmt.Sprintf("%s@%d after %d", obj.Name, v, w.newest[k]))
	}
	w.newest[k] = max(v, w.newest[k])
}

func (w *versionWatcher) OnAdd(obj *config, isInInitialList bool) {
	w.note(obj, false)
	w.recorder.OnAdd(obj, isInInitialList)
}

func (w *versionWatcher) OnUpdate(oldObj, newObj *config) {
	w.note(newObj, true) // each version is told once
	w.recorder.OnUpdate(oldObj, newObj)
}

func TestMerged_EqualsTheTruthAtRestAndNeverGoesBackInEveryHistory(t *testing.T) {
	for _, kind := range []sharedinformer.QueueKind{sharedinformer.InOrder, sharedinformer.PerKey} {
		t.Run(fmt.Sprint("per-key=", kind == sharedinformer.PerKey), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				script := rapid.SliceOfN(mergedSceneGen, 1, 50).Draw(rt, "script")
				grace := rapid.SampledFrom([]time.Duration{0, -1}).Draw(rt, "grace")
				var problem error
				synctest.Test(t, func(t *testing.T) { problem = playMerged(t, kind, grace, script) })
				if problem != nil {
					rt.Fatal(problem)
				}
			})
		})
	}
}

// playMerged runs a script and judges its end.
func playMerged(t *testing.T, kind sharedinformer.QueueKind, grace time.Duration, script []mergedScene) error {
	opts := Options[*config]{Options: sharedinformer.Options[*config]{Queue: kind}, MoveGrace: grace}
	s := newMergedStory(t, opts, "a", "b")
	w := &versionWatcher{recorder: newRecorder(), newest: map[key]int{}}
	if _, err := s.informer.AddHandler(w, sharedinformer.HandlerOptions{}); err != nil {
		return err
	}
	defer s.Stop()
	s.Start()
	var waits []*modelWait
	for _, sc := range script {
		if sc.Verb == "wait" && kind == sharedinformer.InOrder {
			waits = append(waits, s.beginWait(max(1, s.revision()-sc.N%4)))
		}
		s.play(sc)
	}
	s.heal()
	s.bookmarks()
	problems := []error{s.judge(), w.judge()}
	for _, mw := range waits {
		problems = append(problems, mw.judge(s.garbled))
	}
	return errors.Join(problems...)
}

// heal lets every view come to where the server is.
func (s *mergedStory) heal() {
	for name, v := range s.views {
		garbled := len(v.bad) > 0
		v.change(func() { clear(v.bad) })
		v.Fail(nil)
		v.Resume()
		if garbled { // what it could not read comes with a list
			s.Pass(time.Minute)
			s.relistAll(name)
		}
	}
	s.Pass(time.Minute)
}

func (s *mergedStory) play(sc mergedScene) {
	v := s.views[sc.View]
	switch sc.Verb {
	case "put":
		s.Put(sc.Name, sc.Labels...)
		return
	case "delete":
		s.Delete(sc.Name)
		return
	case "recreate":
		s.Delete(sc.Name)
		s.Put(sc.Name, sc.Labels...)
		return
	case "settle":
		s.Settle()
		return
	case "pass":
		s.Pass(time.Duration(sc.N) * time.Millisecond)
		return
	case "add source":
		if v == nil {
			if err := s.informer.AddSource(s.source(sc.View)); err != nil {
				s.Error(err)
			}
		}
		return
	}
	if v == nil {
		return
	}
	switch sc.Verb {
	case "remove source":
		s.informer.RemoveSource(sc.View)
		delete(s.views, sc.View)
	case "pause":
		if !v.paused {
			v.Pause()
		}
	case "step":
		v.change(func() { v.upTo = min(v.upTo+sc.N%3, v.revisionLocked()) })
	case "resume":
		v.Resume()
	case "break":
		v.change(func() { v.streams++ })
	case "relist":
		v.Relist(func() {
			s.Put(sc.Name, sc.Labels...)
			for range sc.N % 3 {
				s.Put("w", sc.View)
			}
		})
	case "garble":
		v.Garble(sc.Name)
		s.garbled[named(sc.Name)] = true
	case "bookmark":
		v.Bookmark()
	case "fail":
		v.Fail(context.DeadlineExceeded)
	case "heal":
		v.Fail(nil)
	}
}

func (s *mergedStory) judge() error {
	want := map[string]string{}
	for k, obj := range s.objects {
		for _, v := range s.views {
			if v.matches(obj) {
				want[k.Name] = obj.ResourceVersion
			}
		}
	}
	var problems []error
	store := map[string]string{}
	for k, obj := range s.informer.Store().Snapshot().All() {
		store[k.Name] = obj.ResourceVersion
	}
	if fmt.Sprint(want) != fmt.Sprint(store) {
		problems = append(problems, fmt.Errorf("the sources have %v, the store %v", want, store))
	}
	if view := s.told.believes(); fmt.Sprint(want) != fmt.Sprint(view) {
		problems = append(problems, fmt.Errorf("the sources have %v, the handler believes %v", want, view))
	}
	for k, e := range s.informer.merge.entries {
		if len(e.holders) == 0 {
			problems = append(problems, fmt.Errorf("%v is remembered: %+v", k, *e))
		}
	}
	return errors.Join(problems...)
}

func (w *versionWatcher) judge() error {
	if len(w.back) > 0 || len(w.lies) > 0 {
		return fmt.Errorf("versions that went back: %q; illegal: %q", w.back, w.lies)
	}
	return nil
}

// modelWait is a call of WaitForResourceVersion for one of the newest revisions, and what there is when it returns.
type modelWait struct {
	version       int
	before, after []*source[*config]
	store         map[key]int
	log           []change // nil while it waits
}

func (s *mergedStory) beginWait(version int) *modelWait {
	w := &modelWait{version: version, before: s.informer.merge.sourcesNow()}
	go func() {
		if s.informer.WaitForResourceVersion(context.Background(), strconv.Itoa(w.version)) != nil {
			return
		}
		w.store = map[key]int{}
		for k, obj := range s.informer.Store().Snapshot().All() {
			w.store[k], _ = strconv.Atoi(obj.ResourceVersion)
		}
		w.after = s.informer.merge.sourcesNow()
		s.mu.Lock()
		defer s.mu.Unlock()
		w.log = slices.Clone(s.log)
	}()
	return w
}

func (m *merge[T]) sourcesNow() []*source[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.sources)
}

// judge compares the store with what the sources have at the version, or at later ones for objects that change later.
// What a source could not read is not compared.
func (w *modelWait) judge(garbled map[key]bool) error {
	if w.log == nil {
		return fmt.Errorf("still waits for %d", w.version)
	}
	then, version, changesLater := map[key]*config{}, map[key]int{}, map[key]bool{}
	for n, ch := range w.log[1:] {
		if n+2 > w.version {
			changesLater[ch.key] = true
			continue
		}
		then[ch.key], version[ch.key] = ch.obj, n+2
	}
	for k := range w.store {
		if _, found := then[k]; !found {
			then[k] = nil // made later
		}
	}
	for k, obj := range then {
		some, all := false, false // whether one of the sources has it, and one that was there all the time
		for _, from := range append(slices.Clone(w.before), w.after...) {
			if from.ListerWatcher.(*view).matches(obj) {
				some = true
				all = all || slices.Contains(w.before, from) && slices.Contains(w.after, from)
			}
		}
		switch got, found := w.store[k]; {
		case garbled[k]:
		case found && got > w.version, !found && changesLater[k]:
		case found && (!some || all && got != version[k]), !found && all:
			return fmt.Errorf("after the wait for %d, %s is there: %t@%d; sources have it: %t@%d",
				w.version, k.Name, found, got, some, version[k])
		}
	}
	return nil
}
