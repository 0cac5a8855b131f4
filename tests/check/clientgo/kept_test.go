package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sample = "glasswatch/tests/check/clientgo/testdata/sample"
	facade = "glasswatch/tests/check/clientgo/testdata/facade"
)

func loadSample(t *testing.T) (root string, g *graph, tests []test) {
	t.Helper()
	root, err := filepath.Abs(".")
	require.NoError(t, err)
	src, err := load(root, sample)
	require.NoError(t, err)
	g = newGraph(src)
	tests = g.tests()
	require.NoError(t, excludeAdditions(root, g, tests))
	return root, g, tests
}

func TestTests_SayWhichUnexportedNamesTheyNeed(t *testing.T) {
	_, _, tests := loadSample(t)
	needs := map[string][]string{}
	for _, one := range tests {
		needs[one.name] = one.unexported
	}
	require.Equal(t, map[string][]string{
		"TestExported":              nil,
		"TestField":                 {".content"},
		"TestMethod":                {".empty"},
		"TestFunction":              {"newBox"},
		"TestThroughHelper":         {".empty"},
		"TestThroughMethodOfHelper": {"newBox"},
		"TestAddsAMethod":           {".Size"},
		"TestAsserts":               nil,
		"TestRuns":                  nil,
		"TestOutside":               nil,
		"ExampleBox":                nil,
	}, needs)
}

func TestRun_TellsOfEachTestThatIsKept(t *testing.T) {
	root, g, tests := loadSample(t)
	r := newRewriter(g, map[string]string{sample: facade}, tests)
	require.NoError(t, r.rename(root))
	require.Empty(t, r.renamed)
	dir := filepath.Join(t.TempDir(), "sample")
	require.NoError(t, os.Mkdir(dir, 0o700))
	names, err := r.write(dir)
	require.NoError(t, err)
	binary, err := build(root, dir, names)
	require.NoError(t, err)
	out, err := run(binary, time.Minute, patterns(tests, 2, []row{{name: "TestRuns", result: differs}}))
	require.NoError(t, err)
	require.NoError(t, out.exit, "a test of it has failed")
	require.Contains(t, out.output["TestRuns"], "sample_test.go:34: badbad", "the place in the original")
	delete(out.ended, "ExampleBox")
	require.Equal(t, map[string]string{
		"TestExported": "pass", "TestRuns": "fail", "TestOutside": "pass", "TestAsserts": "pass",
	}, out.ended)
	require.Equal(t, map[string][]string{"TestRuns": {"bad"}}, out.failed)
	rows := map[string]row{}
	for _, one := range tests {
		rows[one.name] = r.row(one, out)
	}
	require.Equal(t, row{"TestExported", passes, ""}, rows["TestExported"])
	require.Equal(t, row{"TestAsserts", asInterface, ""}, rows["TestAsserts"])
	require.Equal(t, row{"TestRuns", differs, "`bad`"}, rows["TestRuns"])
	require.Equal(t, row{"TestField", notApplicable, "`.content`"}, rows["TestField"])
}

func TestPatterns_TestsThatFailRunApart(t *testing.T) {
	tests := []test{{name: "A"}, {name: "B", unexported: []string{"b"}}, {name: "C"}, {name: "D"}, {name: "E"}}
	known := []row{{name: "C", result: differs}, {name: "A", result: passes}}
	require.Equal(t, []string{"^(A|E)$", "^(D)$", "^(C)$"}, patterns(tests, 2, known))
}

func TestRename_OnlyWhereTheFacadesNameIsNeeded(t *testing.T) {
	got := reflectorPointer.ReplaceAllString("func f() (*Reflector, *ReflectorOptions)", "*StoreReflector")
	require.Equal(t, "func f() (*StoreReflector, *ReflectorOptions)", got)
}
