package chaos

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/tests/check/mutants"
)

const (
	here = "tests/chaos"
	// few is how many schedules must do to catch a mutant.
	few = 64
)

func TestChaosMutants_EachFitsTheCode(t *testing.T) {
	all := mutants.Read(t, "../../chaos/testdata/mutants.txt")
	require.GreaterOrEqual(t, len(all), 10)
	for _, m := range all {
		_, err := m.Apply()
		require.NoError(t, err)
	}
}

// A reflector, queue or listener that is broken on purpose does not survive a few schedules; a whole one does.
func TestChaosMutants_EachIsCaught(t *testing.T) {
	if os.Getenv("GLASSWATCH_MUTANTS") == "" {
		t.Skip("takes minutes: GLASSWATCH_MUTANTS=1 go test ./chaos -v -run ChaosMutants")
	}
	mutants.Each(t, mutants.Read(t, "../../chaos/testdata/mutants.txt"), here, "-test.run=^TestChaos$/^part", fmt.Sprintf("-chaos.schedules=%d", few))
}
