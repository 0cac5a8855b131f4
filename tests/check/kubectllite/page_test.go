package kubectllite

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(text)
}

// That the Chinese page shows the same is checked in tests/check/docs.
func TestPage_ShowsWhatTheDemoPrintsAndTellsOfEachDifference(t *testing.T) {
	golden, page := read(t, "cmd/kubectl-lite/testdata/kubectl-lite.golden"), read(t, "docs/learn/kubectl-lite.md")
	shown := regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(page, -1)
	require.Len(t, shown, 2)
	for _, block := range shown {
		require.Contains(t, golden, block[1], "the demo does not print this")
	}
	table := "\n| kubectl-lite differs because |\n|---|\n"
	for _, d := range meant {
		table += "| " + d.why + " |\n"
	}
	require.Contains(t, page, table+"\n")
}
