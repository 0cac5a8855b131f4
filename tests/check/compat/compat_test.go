// Package compat holds compat/differences.txt against client-go's packages and the facades, makes docs/use/facades.md of them, and runs a
// user of client-go with its import changed.
package compat

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/tests/check/pages"
)

const root = "../../.."

var update = flag.Bool("update", false, "make the tables of docs/use/facades.md anew")

// facades are client-go's packages. ours is what the sample prints if it has run on our layers.
var facades = []struct{ theirs, folder, ours string }{
	{"k8s.io/client-go/tools/cache", "compat/cache", "the registration is a *cache.registration"},
	{"k8s.io/client-go/util/workqueue", "compat/workqueue", "the queue is a *workqueue.RateLimitingQueue[string]"},
}

func TestTable_ListsEveryNameAndIsTrue(t *testing.T) {
	for _, f := range facades {
		t.Run(f.folder, func(t *testing.T) {
			table := readTable(t, f.theirs, filepath.Join(root, f.folder))
			table.RequireTruth(t)
			block := map[string]string{"names " + strings.TrimPrefix(f.theirs, "k8s.io/client-go/"): table.page()}
			require.NoError(t, pages.Fill(filepath.Join(root, "docs", "use", "facades.md"), block, *update))
		})
	}
}

// The go command reads the changed copy of the sample by an overlay.
func TestSwap_ClientGosUserPassesWithTheImportChanged(t *testing.T) {
	for _, f := range facades {
		t.Run(f.folder, func(t *testing.T) {
			original, err := filepath.Abs(filepath.Join(root, f.folder, "sample", "sample_test.go"))
			require.NoError(t, err)
			source, err := os.ReadFile(original)
			require.NoError(t, err)
			theirs, ours := strconv.Quote(f.theirs), strconv.Quote("glasswatch/"+f.folder)
			require.Equal(t, 1, strings.Count(string(source), theirs))

			dir := t.TempDir()
			swapped, overlayFile := filepath.Join(dir, "sample_test.go"), filepath.Join(dir, "overlay.json")
			require.NoError(t, os.WriteFile(swapped, []byte(strings.Replace(string(source), theirs, ours, 1)), 0o600))
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: swapped}})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))

			cmd := exec.Command("go", "test", "-v", "-overlay", overlayFile, "./"+f.folder+"/sample")
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), f.ours)
		})
	}
}
