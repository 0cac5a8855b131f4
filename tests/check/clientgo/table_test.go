package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const path = "k8s.io/client-go/tools/cache"

func TestCompare_ATableThatIsWrongOrMissesARowFails(t *testing.T) {
	found := []row{
		{"TestPasses", passes, ""}, {"TestOurs", notApplicable, "`.items`"},
		{"TestFails", differs, "`sub`"}, {"TestNamed", renamed, ""},
	}
	right := []row{
		{"TestPasses", passes, ""}, {"TestOurs", notApplicable, "`.items`"},
		{"TestFails", differs, "`sub`: because"}, {"TestNamed", renamed, "so"},
	}
	compared := func(change func(told []row) []row) []string {
		return compare(map[string][]row{path: found}, map[string][]row{path: change(append([]row{}, right...))})
	}
	require.Empty(t, compared(func(told []row) []row { return told }))
	set := func(at int, r row) func([]row) []row {
		return func(told []row) []row {
			told[at] = r
			return told
		}
	}
	for name, change := range map[string]func(told []row) []row{
		"TestPasses: no row; it is: passes":           func(told []row) []row { return told[1:] },
		"two rows for TestPasses":                     func(told []row) []row { return append(told, told[0]) },
		"client-go has no test TestX":                 func(told []row) []row { return append(told, row{name: "TestX"}) },
		`the table says "differs", but it is: passes`: set(0, row{"TestPasses", differs, "no"}),
		"there is nothing to explain":                 set(0, row{"TestPasses", passes, "no"}),
		"it uses `.lock`, but it uses `.items`":       set(1, row{"TestOurs", notApplicable, "`.lock`"}),
		`the table says "passes", but it is: differs`: set(2, row{"TestFails", passes, ""}),
		"should name what fails: `sub`":               set(2, row{"TestFails", differs, "`other`: because"}),
		"name what fails: `sub`":                      set(2, row{"TestFails", differs, "`sub` `more`: because"}),
		"TestFails: it differs, but why?":             set(2, row{"TestFails", differs, "`sub`"}),
		"TestNamed: it differs, but why?":             set(3, row{"TestNamed", renamed, ""}),
		"but it is: passes renamed":                   set(3, row{"TestNamed", passes, ""}),
	} {
		wrong := compared(change)
		require.Len(t, wrong, 1, name)
		require.Contains(t, wrong[0], name)
	}
}

func TestCompare_ATestThatFailsOutsideOfItsSubtestsIsNotThatOfTheTable(t *testing.T) {
	found := map[string][]row{path: {{"TestWhole", differs, ""}}}
	compared := func(why string) []string {
		return compare(found, map[string][]row{path: {{"TestWhole", differs, why}}})
	}
	require.Empty(t, compared("because"))
	require.Empty(t, compared("`X` is a type, and no subtest"))
	wrong := compared("`sub`: because")
	require.Len(t, wrong, 1)
	require.Contains(t, wrong[0], "TestWhole: the table names subtests, but none fails")
}

func TestCompare_AtMostThreeTestsDiffer(t *testing.T) {
	var found, told []row
	for _, name := range []string{"TestA", "TestB", "TestC", "TestD"} {
		found, told = append(found, row{name, differs, ""}), append(told, row{name, differs, "because"})
	}
	require.Empty(t, compare(map[string][]row{path: found[:3]}, map[string][]row{path: told[:3]}))
	wrong := compare(map[string][]row{path: found}, map[string][]row{path: told})
	require.Equal(t, []string{"4 tests differ, 3 may"}, wrong)
}

func TestWriteTable_KeepsReasons(t *testing.T) {
	file := filepath.Join(t.TempDir(), "TESTS.md")
	require.NoError(t, os.WriteFile(file, []byte("# Title\n\nWords.\n"), 0o600))
	told := map[string][]row{path: {
		{"TestFails", differs, "`sub`: because"}, {"TestOther", differs, "`sub`: because"},
		{"TestWhole", differs, "`sub`: because"},
	}}
	found := map[string][]row{path: {
		{"TestFails", differs, "`sub`"}, {"TestOther", differs, "`more`"}, {"TestPasses", passes, ""},
		{"TestWhole", differs, ""},
	}}
	for range 2 {
		require.NoError(t, writeTable(file, found, told))
		read, err := readTable(file)
		require.NoError(t, err)
		require.Equal(t, []row{told[path][0], found[path][1], found[path][2], found[path][3]}, read[path])
		told = read
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "# Title\n\nWords.\n\n## "+path)
}

// The output of a failure that the table explains is not shown: nothing needs to be done about it.
func Example_printRows() {
	told := []row{{"TestKnown", differs, "`sub`: because"}, {"TestMore", differs, "`sub`: because"}}
	rows := []row{{"TestKnown", differs, "`sub`"}, {"TestMore", differs, "`other`"}}
	printRows(rows, told, outcome{output: map[string]string{
		"TestKnown": "known\n", "TestMore": "--- FAIL: TestMore/other\n",
	}}, options{})
	// Output:
	//   differs             TestKnown `sub`
	//   differs             TestMore `other`
	// --- FAIL: TestMore/other
	//   2 differs
}
