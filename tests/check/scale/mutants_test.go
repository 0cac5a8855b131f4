package scale

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/tests/check/mutants"
)

// few is how many schedules must do to catch a mutant.
const few = 300

func TestScaleMutants_EachFitsTheCode(t *testing.T) {
	all := mutants.Read(t, "../../scale/testdata/*.txt")
	require.GreaterOrEqual(t, len(all), 10)
	for _, m := range all {
		_, err := m.Apply()
		require.NoError(t, err)
	}
}

// An assignment, a fence or a deadline that is broken on purpose does not survive a few schedules; a whole one does.
func TestScaleMutants_EachIsCaught(t *testing.T) {
	if os.Getenv("GLASSWATCH_MUTANTS") == "" {
		t.Skip("takes minutes: GLASSWATCH_MUTANTS=1 go test ./scale -v -run ScaleMutants")
	}
	mutants.Each(t, mutants.Read(t, "../../scale/testdata/mutants.txt"), "tests/scale", "-test.run=^TestScale$/^seeds$",
		fmt.Sprintf("-scale.schedules=%d", few))
}

// So do informers that do not follow their shards.
func TestScaleMutants_OfInformersThatFollowAreCaught(t *testing.T) {
	if os.Getenv("GLASSWATCH_MUTANTS") == "" {
		t.Skip("takes minutes: GLASSWATCH_MUTANTS=1 go test ./scale -v -run ScaleMutants")
	}
	mutants.Each(t, mutants.Read(t, "../../scale/testdata/follow.txt"), "tests/scale", "-test.run=^TestScaleFollow$/^seeds$",
		fmt.Sprintf("-scale.schedules=%d", 10*few)) // a tenth of them has informers
}

// The simulation reconciles cells, not Ingresses. What the ingress controller does with its shards is caught by its own
// tests.
func TestScaleMutants_OfTheIngressControllerAreCaught(t *testing.T) {
	if os.Getenv("GLASSWATCH_MUTANTS") == "" {
		t.Skip("takes a minute: GLASSWATCH_MUTANTS=1 go test ./scale -v -run ScaleMutants")
	}
	mutants.Each(t, mutants.Read(t, "../../scale/testdata/ingress.txt"), "controller/ingress/sharded",
		"-test.run=^TestShards_(AMoveWaitsForWhatIsBeingWritten|NothingIsReconciledBeforeBothKindsAreListed)$")
}
