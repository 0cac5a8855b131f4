package chaos

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/tests/mutants"
)

const (
	here = "tests/chaos"
	// limit is many times what few schedules take: to be slow does not count as to be caught.
	limit = 10 * time.Minute
	// few is how many schedules must do to catch a mutant.
	few = 64
)

func TestChaosMutants_EachFitsTheCode(t *testing.T) {
	all := mutants.Read(t, "testdata/mutants.txt")
	require.GreaterOrEqual(t, len(all), 10)
	for _, m := range all {
		_, err := m.Apply()
		require.NoError(t, err)
	}
}

// A reflector, queue or listener that is broken on purpose does not survive a few schedules; a whole one does.
func TestChaosMutants_EachIsCaught(t *testing.T) {
	if os.Getenv("GLASSWATCH_MUTANTS") == "" {
		t.Skip("takes about five minutes: GLASSWATCH_MUTANTS=1 go test -v ./tests/chaos -run ChaosMutants")
	}
	args := []string{"-test.run=^TestChaos$/^part", fmt.Sprintf("-chaos.schedules=%d", few)}
	by, red := mutants.Run(t, here, mutants.Build(t, here, nil), limit, args...)
	require.False(t, red, "chaos is red without a bug, or slow, so the mutants prove nothing: %s", by)
	for _, m := range mutants.Read(t, "testdata/mutants.txt") {
		t.Run(m.Name, func(t *testing.T) {
			text, err := m.Apply()
			require.NoError(t, err)
			binary := mutants.Build(t, here, map[string]string{m.File: text})
			start := time.Now()
			by, red := mutants.Run(t, here, binary, limit, args...)
			require.True(t, red, "%d schedules are green, although: %s", few, m.Why)
			require.NotContains(t, by, "timed out")
			t.Logf("caught by %s in %.1f s: %s", by, time.Since(start).Seconds(), m.Why)
		})
	}
}
