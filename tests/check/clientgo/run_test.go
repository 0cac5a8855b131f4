package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program writes a test program that passes the tests it is asked for by script, where $1 is the pattern.
func program(t *testing.T, script string) (binary string) {
	binary = filepath.Join(t.TempDir(), "tests")
	lines := "#!/bin/sh\nfor last; do :; done; set -- \"${last#-test.run=}\"\n" +
		"passes() { echo \"=== RUN   $1\"; echo \"--- PASS: $1 (0.00s)\"; }\n" +
		"fails() { echo \"=== RUN   $1\"; echo \"--- FAIL: $1 (0.00s)\"; }\n" + script
	require.NoError(t, os.WriteFile(binary, []byte(lines), 0o700))
	return binary
}

func ran(t *testing.T, script string, patterns ...string) outcome {
	binary := program(t, script)
	out, err := run(binary, time.Minute, patterns)
	require.NoError(t, err)
	require.NoError(t, runAgain(binary, time.Minute, &out))
	return out
}

func TestRunAgain_ATestThatPassesThenLeavesNoFailure(t *testing.T) {
	name := realTime[0]
	out := ran(t, `[ -e again ] && { passes `+name+`; echo PASS; exit 0; }
touch again; fails `+name+`; passes TestOther; echo FAIL; exit 1`, "^("+name+"|TestOther)$")
	require.Equal(t, map[string]string{name: "pass", "TestOther": "pass"}, out.ended)
	require.False(t, out.endedBadly())
}

func TestRunAgain_ATestThatNeverPassesHasFailed(t *testing.T) {
	name := realTime[0]
	out := ran(t, `fails `+name+`; echo FAIL; exit 1`, "^"+name+"$")
	require.Equal(t, "fail", out.ended[name])
	require.False(t, out.endedBadly(), "that is the test's failure")
}

func TestRunAgain_GoroutinesThatOnlyTheSecondRunFindsAreNoted(t *testing.T) {
	name := realTime[0]
	out := ran(t, `[ -e again ] && { passes `+name+`; echo PASS; echo goleak: found; exit 1; }
touch again; fails `+name+`; echo FAIL; exit 1`, "^"+name+"$")
	require.Equal(t, "pass", out.ended[name])
	require.True(t, out.endedBadly())
	require.Contains(t, out.rest, "goleak: found")
}

func TestRun_AProgramThatFailsThoughItsTestsPassEndsBadly(t *testing.T) {
	const script = `case $1 in
*TestFails*) fails TestFails; echo FAIL; exit 1;;
*TestExits*) passes TestExits; echo PASS; exit 3;;
*) passes TestPasses; echo PASS;;
esac`
	require.False(t, ran(t, script, "TestPasses").endedBadly())
	require.False(t, ran(t, script, "TestPasses", "TestFails").endedBadly())
	require.True(t, ran(t, script, "TestPasses", "TestExits").endedBadly())
	require.True(t, ran(t, script, "TestFails", "TestExits").endedBadly(), "another program has a test that failed")
}
