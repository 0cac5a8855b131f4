package mutants

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// limit is for tests without a bug.
const limit = 10 * time.Minute

// suite is the tests that must turn red.
type suite struct {
	folder string
	args   []string
	bugs   []Mutant // a bug's number is its place, from 1

	once sync.Once // compiles them, and runs them without a bug
	// What came of that. Until then, and if they do not compile, Red.
	how     setting
	binary  program
	alone   []Mutant // those of the bugs that are not in binary
	took    time.Duration
	verdict Verdict
	by      string
}

// Each tries each bug, as many at once as there are processors, and runs the tests that are to catch it: those of the folder, or of
// the bug's own layer if folder is "". Without a bug they must be green; how long they take then decides when they are too slow.
func Each(t *testing.T, all []Mutant, folder string, args ...string) {
	t.Helper()
	AtLeast(t, len(all), all, folder, args...)
}

// AtLeast is Each for bugs of which so many must be caught.
func AtLeast(t *testing.T, caught int, all []Mutant, folder string, args ...string) {
	t.Helper()
	suites := newSuites(all, folder, args)
	tryEach(t, all, len(all)-caught, func(t *testing.T, parent *testing.T, m Mutant) Verdict {
		verdict, _ := suites[cmp.Or(folder, m.Layer())].try(t, parent, m)
		return verdict
	})
}

func newSuites(all []Mutant, folder string, args []string) map[string]*suite {
	suites := map[string]*suite{}
	for _, m := range all {
		name := cmp.Or(folder, m.Layer())
		if suites[name] == nil {
			suites[name] = &suite{folder: name, args: args, verdict: Red}
		}
		suites[name].bugs = append(suites[name].bugs, m)
	}
	return suites
}

func tryEach(t *testing.T, all []Mutant, mayMiss int, try func(t *testing.T, parent *testing.T, m Mutant) Verdict) {
	t.Helper()
	atOnce := make(chan struct{}, runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	var tally Tally
	t.Cleanup(func() {
		t.Log(&tally)
		if tally.tooMany() {
			t.Errorf("more than one in twenty timed out: %v", tally.timedOut)
		}
		if len(tally.missed) > mayMiss {
			t.Errorf("not caught: %v", tally.missed)
		}
	})
	parent := t
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			verdict := try(t, parent, m)
			mu.Lock()
			defer mu.Unlock()
			switch verdict {
			case Red:
				tally.caught++
			case TimedOut:
				tally.timedOut = append(tally.timedOut, m.Name)
			case Green:
				tally.missed = append(tally.missed, m.Name)
			}
		})
	}
}

// runSound compiles the tests with the bugs, and runs them with none of them on. It finds the cheapest setting with which they are green.
func (s *suite) runSound(t *testing.T) {
	texts, alone, err := withCopies(s.bugs)
	if err != nil {
		s.by = err.Error()
		return
	}
	for _, s.how = range settings {
		s.alone = alone
		s.binary, err = s.build(t, texts)
		if err != nil {
			t.Logf("each bug of %s is compiled alone, as one of them does not compile: %v", s.folder, err)
			s.alone = s.bugs
			s.binary, err = s.build(t, nil)
		}
		if err != nil {
			s.by = err.Error()
			continue
		}
		start := time.Now()
		s.verdict, s.by = s.binary.run(t, 0, limit, s.args...)
		s.took = time.Since(start)
		if s.verdict == Green {
			return
		}
		t.Logf("%s is %s with %v: %s", s.folder, s.verdict, s.how, s.by)
	}
}

func (s *suite) build(t *testing.T, texts map[string]string) (program, error) {
	return s.how.build(t, s.folder, texts)
}

// try returns what the tests say of a bug, and which of them does. With args, not all of the tests are run. A bug that does not compile
// proves nothing and counts as green.
func (s *suite) try(t *testing.T, parent *testing.T, m Mutant, args ...string) (verdict Verdict, by string) {
	t.Helper()
	s.once.Do(func() { s.runSound(parent) })
	require.Equal(t, Green, s.verdict, "%s is %s without a bug, so its mutants prove nothing: %s", s.folder, s.verdict, s.by)
	binary, number := s.binary, 1+slices.Index(s.bugs, m)
	if slices.Contains(s.alone, m) {
		text, err := m.Apply()
		require.NoError(t, err)
		if binary, err = s.build(t, map[string]string{m.File: text}); err != nil {
			t.Logf("not caught: %v", err)
			return Green, ""
		}
	}
	start := time.Now()
	verdict, by = binary.run(t, number, patienceAfter(s.took), slices.Concat(s.args, args)...)
	seconds := time.Since(start).Seconds()
	switch verdict {
	case Green:
		t.Logf("green with the tests of %s %v, although: %s", s.folder, args, m.Why)
	case Red:
		t.Logf("caught by %s in %.1f s: %s", by, seconds, m.Why)
	case TimedOut:
		t.Logf("timed out after %.1f s, and so not caught: %s", seconds, m.Why)
	}
	return verdict, by
}
