package controllerruntime

import (
	"cmp"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/tests/check/controlplane"
)

// Both use one copy: what is compiled for the first need not be compiled for the second.
func TestControllerRuntime_WithAllItsImportsChanged(t *testing.T) {
	modfile := swapped(t, "sigs.k8s.io/controller-runtime")
	t.Run("a manager works", func(t *testing.T) {
		command(t, "build", "-mod=mod", "-modfile="+modfile, "sigs.k8s.io/controller-runtime/pkg/...")
		out := command(t, "test", "-mod=mod", "-modfile="+modfile, "-count=1", "-v", "-run=TestManager", ".")
		require.Contains(t, out, "--- PASS: TestManager")
	})
	t.Run("its own tests of the cache pass on a real API server", func(t *testing.T) {
		passesItsCacheTests(t, modfile)
	})
}

// passesItsCacheTests runs all tests of pkg/cache.
func passesItsCacheTests(t *testing.T, modfile string) {
	plane := controlplane.Start(t)
	cmd := exec.Command("go", "test", "-mod=mod", "-modfile="+modfile, "-count=1", "-v",
		"sigs.k8s.io/controller-runtime/pkg/cache", "-ginkgo.no-color", "-ginkgo.flake-attempts=3")
	cmd.Env = append(os.Environ(), "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+plane.Kubeconfig(controlplane.Admin))
	raw, err := cmd.CombinedOutput()
	out := string(raw)
	require.NoError(t, err, "%s\n%s", out, inShort(out))
	require.True(t, allPassed(out), "%s\n%s", out, inShort(out))
	require.Contains(t, out, "--- PASS: TestReaderWaitsForCacheSync")
	for _, spec := range triedAgain(out) {
		t.Logf("passed at another try: %s", spec)
		require.Regexp(t, mayRace, spec)
	}
}

// mayRace are the specs that ask for an informer with a context that has ended, or list with one, and expect an error.
// They get none if the informer is synced before it is looked at. On a busy machine that happens to client-go's
// informers, too.
const mayRace = "(get(ting an)? informer (by group/version/kind )?to be cancelled|error when context is cancelled)$"

var (
	ran    = regexp.MustCompile(`Ran (\d+) of (\d+) Specs`)
	passed = regexp.MustCompile(`(\d+) Passed \| 0 Failed \| (?:(\d+) Flaked \| )?0 Pending \| 0 Skipped`)
	flaky  = regexp.MustCompile(`\[FLAKEY TEST - TOOK \d+ ATTEMPTS TO PASS\].*\n(.*)`)
)

// allPassed reads the summary that ginkgo prints. It must count as many flaky specs as triedAgain finds.
func allPassed(out string) bool {
	r, p := ran.FindStringSubmatch(out), passed.FindStringSubmatch(out)
	return r != nil && p != nil && r[1] == r[2] && r[1] == p[1] && r[1] != "0" &&
		cmp.Or(p[2], "0") == strconv.Itoa(len(triedAgain(out)))
}

// inShort returns what ginkgo says at the end, after the output of all specs: which of them failed.
func inShort(out string) string {
	if i := strings.LastIndex(out, "Summarizing "); i >= 0 {
		return out[i:]
	}
	return "no spec failed"
}

// triedAgain returns the specs that did not pass at once.
func triedAgain(out string) (specs []string) {
	for _, m := range flaky.FindAllStringSubmatch(out, -1) {
		specs = append(specs, m[1])
	}
	return specs
}

func TestSummary_IsReadAsGinkgoWritesIt(t *testing.T) {
	const name, flaky = "Cache test should allow ", "• [FLAKEY TEST - TOOK 2 ATTEMPTS TO PASS] [0.6 seconds]\n"
	const allFlaky = flaky + name + "for get informer to be cancelled\n/x.go:1\n" +
		flaky + name + "getting an informer by group/version/kind to be cancelled\n" +
		flaky + "Cache test as a Reader should return an error when context is cancelled\n"
	for summary, want := range map[string]bool{
		"Ran 276 of 276 Specs in 86 s\nSUCCESS! -- 276 Passed | 0 Failed | 0 Pending | 0 Skipped": true,
		"Ran 12 of 276 Specs in 2 s\nSUCCESS! -- 12 Passed | 0 Failed | 0 Pending | 264 Skipped":  false,
		"Ran 12 of 12 Specs in 2 s\nFAIL! -- 11 Passed | 1 Failed | 0 Pending | 0 Skipped":        false,
		"Ran 0 of 0 Specs in 0 s\nSUCCESS! -- 0 Passed | 0 Failed | 0 Pending | 0 Skipped":        false,
		"?   	sigs.k8s.io/controller-runtime/pkg/cache	[no test files]":                           false,
	} {
		require.Equal(t, want, allPassed(summary), summary)
	}
	const nine, ended = "Ran 9 of 9 Specs in 1 s\nSUCCESS! -- 9 Passed | 0 Failed | ", "0 Pending | 0 Skipped"
	require.True(t, allPassed(nine+ended))
	require.True(t, allPassed(allFlaky+nine+"3 Flaked | "+ended))
	require.False(t, allPassed(allFlaky+nine+"4 Flaked | "+ended))
	require.False(t, allPassed(allFlaky+nine+ended))
	require.False(t, allPassed(nine+"2 Flaked | "+ended))
	specs := triedAgain(allFlaky)
	require.Len(t, specs, 3)
	for _, spec := range specs {
		require.Regexp(t, mayRace, spec)
	}
	require.NotRegexp(t, mayRace, name+"listing objects")
}
