// Package swap runs the tests of a facade's sample with the import changed.
package swap

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run tests the folder sample with its one import of theirs changed to ours, and returns the output. The go command
// reads the changed copy by an overlay.
func Run(t *testing.T, theirs, ours string) string {
	t.Helper()
	theirs, ours = strconv.Quote(theirs), strconv.Quote(ours)
	original, err := filepath.Abs("sample/sample_test.go")
	require.NoError(t, err)
	source, err := os.ReadFile(original)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), theirs))

	swapped := filepath.Join(t.TempDir(), "sample_test.go")
	require.NoError(t, os.WriteFile(swapped, []byte(strings.Replace(string(source), theirs, ours, 1)), 0o600))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: swapped}})
	require.NoError(t, err)
	overlayFile := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))

	cmd := exec.Command("go", "test", "-v", "-overlay", overlayFile, "./sample")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // under -race, too: one build of client-go is enough
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}
