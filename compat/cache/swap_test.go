package cache

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSwap_ClientGosUserPassesWithTheImportChanged tests the package sample with one line changed, which the go command reads
// from a copy in place of the file.
func TestSwap_ClientGosUserPassesWithTheImportChanged(t *testing.T) {
	const theirs, ours = `"k8s.io/client-go/tools/cache"`, `"glasswatch/compat/cache"`
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

	out, err := exec.Command("go", "test", "-v", "-overlay", overlayFile, "./sample").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "the registration is a *cache.registration", "this was not our informer")
}
