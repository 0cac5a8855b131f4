package mutants

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMutants_EachFitsTheCode(t *testing.T) {
	all := slices.Concat(Read(t, "testdata/*.txt"), Read(t, faults), Read(t, missed))
	require.GreaterOrEqual(t, len(all), 40)
	names := map[string]bool{}
	for _, m := range all {
		require.False(t, names[m.Name], "two mutants are called %s", m.Name)
		names[m.Name] = true
		_, err := m.Apply()
		require.NoError(t, err)
	}
}

func TestFirst_NamesMutantsAndTestsOfTheirLayers(t *testing.T) {
	first := readFirst(t)
	for _, m := range Read(t, "testdata/*.txt") {
		test, known := first[m.Name]
		if !known {
			continue
		}
		delete(first, m.Name)
		require.True(t, hasTest(t, m.Layer(), test), "%s has no %s: delete the line of %s in %s, or write the file anew with -update", m.Layer(), test, m.Name, firstFile)
	}
	require.Empty(t, first, "there are no such mutants: delete their lines in %s", firstFile)
}

func hasTest(t *testing.T, layer, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(layer), "*_test.go"))
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Contains(string(text), "\nfunc "+test+"(")
	})
}

func TestMutants_EachTurnsTheTestsOfItsLayerRed(t *testing.T) {
	if os.Getenv("GLASSWATCH_MUTANTS") == "" {
		t.Skip("takes minutes: GLASSWATCH_MUTANTS=1 go test -C tests/check -v ./mutants")
	}
	eachInItsLayer(t, Read(t, "testdata/*.txt"))
}

// faults are bugs of our programs that only show when something fails; missed are those that the faults seldom show, or never:
// docs/results/faults.md has the reasons.
const faults, missed = "testdata/faults/*.txt", "testdata/missed/*.txt"

// The order of goroutines decides whether a fault meets some of the bugs. So the log says which are caught, and how many there
// must be is what the page promises. The missed ones, each of which takes all plans, are tried only if the others are too few. Without a
// bug a sample of the plans is played: tests/check/run plays all of them elsewhere.
func TestMutants_ThirtyOfFortyAreCaughtByTheProgramsFaultsAlone(t *testing.T) {
	if os.Getenv("GLASSWATCH_MUTANTS") == "" {
		t.Skip("takes minutes: GLASSWATCH_MUTANTS=1 go test -C tests/check -v ./mutants -run Alone")
	}
	const enough = 30
	likely, others := Read(t, faults), Read(t, missed)
	all := slices.Concat(likely, others)
	require.GreaterOrEqual(t, len(all), 40)
	suites := suitesOf(layersOf(all, ""), []string{"-test.run=^TestFaults"})
	try := func(t *testing.T, parent *testing.T, m Mutant) Verdict {
		verdict, _ := suites[m.Layer()].try(t, parent, m)
		return verdict
	}
	for _, s := range suites {
		s.more = []string{"-controllertest.all"}
	}
	tally := tryEach(t, likely, try)
	if tally.caught >= enough {
		t.Logf("%d bugs that the faults seldom show are not tried, since %d others are caught", len(others), tally.caught)
	} else {
		tally.add(tryEach(t, others, try))
	}
	tally.judgeBy(t, enough, len(all)-enough)
}

func TestJudge_TellsTestsThatFailFromTestsThatAreLate(t *testing.T) {
	for out, want := range map[string]struct {
		verdict Verdict
		by      string
	}{
		"=== RUN\n--- FAIL: TestA (0.1s)\nFAIL\n":                                            {Red, "TestA"},
		"=== RUN\n    --- FAIL: TestA/b (0.1s)\n":                                            {Red, "TestA/b"},
		"panic: test timed out after 1s\n\trunning tests:\n\t\tTestA (1s)\n":                 {TimedOut, "test timed out"},
		"--- FAIL: TestA (0.1s)\npanic: test timed out after 1s\n":                           {Red, "TestA"},
		"panic: deadlock: all goroutines in bubble are blocked\n":                            {Red, "panic: deadlock: all goroutines in bubble are blocked"},
		"fatal error: all goroutines are asleep - deadlock!\n":                               {Red, "fatal error: all goroutines are asleep - deadlock!"},
		"panic: send on closed channel\n\ngoroutine 1\nglasswatch/indexer.TestA_b.func1()\n": {Red, "TestA_b, panic: send on closed channel"},
		"something else\n": {Green, ""},
	} {
		verdict, by := judge(out)
		require.Equal(t, want.verdict, verdict, out)
		require.Equal(t, want.by, by, out)
	}
}

func TestTally_AMutantThatTimesOutIsNotCaught(t *testing.T) {
	c := Tally{caught: 19, timedOut: []string{"a"}}
	require.False(t, c.tooMany())
	require.Equal(t, "19 mutants caught, 1 timed out [a]", c.String())
	c.timedOut = append(c.timedOut, "b")
	require.True(t, c.tooMany())
	c = Tally{caught: 29, timedOut: []string{"a"}, missed: make([]string, 14)}
	require.Equal(t, []string{"29 are caught, want 30"}, c.problems(30, 14), "44 bugs, of which one timed out")
	require.Greater(t, patienceAfter(time.Minute), 2*time.Minute, "a slow machine is not a bug")
}
