package real

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/realserver"
	"glasswatch/tests/check/controlplane"
)

// Each is a test with a part that only runs where there is a real API server; played is a line that it prints then.
func TestStories_HoldOnARealServerAsInMemory(t *testing.T) {
	plane := controlplane.Start(t)
	for _, story := range []struct{ folder, test, played string }{
		{"cmd/foo-controller", "TestStory_IsThatOfUpstreamsSampleController", "on_a_real_API_server"},
		{"cmd/cloudmanager", "TestSuite/real", "TestSuite/real/"},
		{"internal/actors", "TestWorkloads", "TestWorkloads/on_a_real_API_server/"},
		{"tests/chaos", "^TestChaos$/^real$", "TestChaos/real/seed="},
		{"tests/scale", "TestHeldWrite_IsRefusedAfterTheNewOwnerWrote", "real_server"},
	} {
		t.Run(story.folder, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-run", story.test, "./"+story.folder)
			cmd.Dir = "../../.."
			cmd.Env = append(os.Environ(), realserver.Variable+"="+plane.Kubeconfig(controlplane.Admin))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), story.played)
		})
	}
}
