package mutants

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// limit is for tests without a bug.
const limit = 30 * time.Minute

// layer is the tests of a folder with the bugs that they must catch. A bug's number is its place, from 1.
type layer struct {
	folder string
	bugs   []Mutant

	mu    sync.Mutex
	built [len(settings)]*build
}

// build is a layer's tests as one setting compiles them, with each bug in a copy of its function.
type build struct {
	program program
	alone   []Mutant // those of the bugs that are not in program
	err     error
}

// in compiles the tests with a setting, once for all suites.
func (l *layer) in(t *testing.T, setting int) *build {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.built[setting] != nil {
		return l.built[setting]
	}
	texts, alone, err := withCopies(l.bugs)
	b := &build{alone: alone, err: err}
	l.built[setting] = b
	if err != nil {
		return b
	}
	b.program, b.err = settings[setting].build(t, l.folder, texts)
	if b.err != nil {
		t.Logf("each bug of %s is compiled alone, as one of them does not compile: %v", l.folder, b.err)
		b.alone = l.bugs
		b.program, b.err = settings[setting].build(t, l.folder, nil)
	}
	return b
}

// suite is those of a layer's tests that must turn red.
type suite struct {
	*layer
	args []string
	more []string // args that only the tests with a bug get

	once sync.Once // compiles them, and runs them without a bug
	// What came of that. Until then, and if they do not compile, Red.
	how     setting
	build   *build
	took    time.Duration
	verdict Verdict
	by      string
}

// Each tries each bug, as many at once as there are processors, and runs the tests that are to catch it: those of the folder, or of
// the bug's own layer if folder is "". Without a bug they must be green; how long they take then decides when they are too slow.
func Each(t *testing.T, all []Mutant, folder string, args ...string) {
	t.Helper()
	suites := suitesOf(layersOf(all, folder), args)
	tally := tryEach(t, all, func(t *testing.T, parent *testing.T, m Mutant) Verdict {
		verdict, _ := suites[cmp.Or(folder, m.Layer())].try(t, parent, m)
		return verdict
	})
	tally.judge(t)
}

// layersOf are the layers by their folders; it is one if folder is not "".
func layersOf(all []Mutant, folder string) map[string]*layer {
	layers := map[string]*layer{}
	for _, m := range all {
		name := cmp.Or(folder, m.Layer())
		if layers[name] == nil {
			layers[name] = &layer{folder: name}
		}
		layers[name].bugs = append(layers[name].bugs, m)
	}
	return layers
}

func suitesOf(layers map[string]*layer, args []string) map[string]*suite {
	suites := map[string]*suite{}
	for name, l := range layers {
		suites[name] = &suite{layer: l, args: args, verdict: Red}
	}
	return suites
}

// tryEach returns when each bug has been tried.
func tryEach(t *testing.T, all []Mutant, try func(t *testing.T, parent *testing.T, m Mutant) Verdict) *Tally {
	t.Helper()
	var mu sync.Mutex
	var tally Tally
	var workers sync.WaitGroup
	next := make(chan Mutant)
	parent := t
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for m := range next {
				t.Run(m.Name, func(t *testing.T) {
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
		})
	}
	ended := make(chan struct{})
	go func() { workers.Wait(); close(ended) }()
	for _, m := range inTurns(all) {
		select {
		case next <- m:
		case <-ended: // a require of the parent's ends the worker in which it fails
		}
	}
	close(next)
	<-ended
	return &tally
}

// inTurns are the bugs, one of each layer in turn: so while one layer is compiled, another is tried.
func inTurns(all []Mutant) (turns []Mutant) {
	layers := layersOf(all, "")
	for n := 0; len(turns) < len(all); n++ {
		for _, name := range slices.Sorted(maps.Keys(layers)) {
			if bugs := layers[name].bugs; n < len(bugs) {
				turns = append(turns, bugs[n])
			}
		}
	}
	return turns
}

// runSound compiles the tests with the bugs, and runs them with none of them on. It finds the cheapest setting with which they are green.
func (s *suite) runSound(t *testing.T) {
	for n, how := range settings {
		s.how, s.build = how, s.in(t, n)
		if s.build.err != nil {
			s.by = s.build.err.Error()
			continue
		}
		start := time.Now()
		s.verdict, s.by = s.build.program.run(t, 0, limit, s.args...)
		s.took = time.Since(start)
		if s.verdict == Green {
			return
		}
		t.Logf("%s is %s with %v: %s", s.folder, s.verdict, s.how, s.by)
	}
}

// patience is how long the tests may take with a bug. Nothing says how long those with more arguments take without one.
func (s *suite) patience() time.Duration {
	if s.more != nil {
		return limit
	}
	return patienceAfter(s.took)
}

// try returns what the tests say of a bug, and which of them does. With args, not all of the tests are run. A bug that does not compile
// proves nothing and counts as green.
func (s *suite) try(t *testing.T, parent *testing.T, m Mutant, args ...string) (verdict Verdict, by string) {
	t.Helper()
	s.once.Do(func() { s.runSound(parent) })
	require.Equal(t, Green, s.verdict, "%s is %s without a bug, so its mutants prove nothing: %s", s.folder, s.verdict, s.by)
	binary, number := s.build.program, 1+slices.Index(s.bugs, m)
	if slices.Contains(s.build.alone, m) {
		text, err := m.Apply()
		require.NoError(t, err)
		if binary, err = s.how.build(t, s.folder, map[string]string{m.File: text}); err != nil {
			t.Logf("not caught: %v", err)
			return Green, ""
		}
	}
	start := time.Now()
	verdict, by = binary.run(t, number, s.patience(), slices.Concat(s.args, s.more, args)...)
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
