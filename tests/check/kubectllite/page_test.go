package kubectllite

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// rows are those of the table with this head.
func rows(page, head string) []string {
	_, table, _ := strings.Cut(page, head+"\n|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	return strings.Split(table, "\n")
}

func TestPages_SayWhatIsSo(t *testing.T) {
	golden := read(t, "cmd/kubectl-lite/testdata/kubectl-lite.golden")
	english, chinese := read(t, "docs/learn/kubectl-lite.md"), read(t, "docs/learn/kubectl-lite.zh.md")
	for _, page := range []string{english, chinese} {
		shown := regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(page, -1)
		require.Len(t, shown, 2)
		for _, block := range shown {
			require.Contains(t, golden, block[1], "the demo does not print this")
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`).FindAllStringSubmatch(page, -1) {
			_, err := os.Stat(filepath.Join(root, "docs", "learn", link[1]))
			require.NoError(t, err)
		}
		for _, file := range regexp.MustCompile("`(\\w+\\.go)`").FindAllStringSubmatch(page, -1) {
			_, err := os.Stat(filepath.Join(root, "cmd/kubectl-lite", file[1]))
			require.NoError(t, err)
		}
		require.Contains(t, page, "go run ./cmd/kubectl-lite --demo\n")
	}
	require.Contains(t, english, "(kubectl-lite.zh.md)")
	require.Contains(t, chinese, "(kubectl-lite.md)")
	require.Contains(t, read(t, "docs/learn/pitfalls-by-topic.md"), "\n## Manifests\n")

	told := rows(english, "| kubectl-lite differs because |")
	require.Len(t, told, len(meant))
	for i, d := range meant {
		require.Equal(t, "| "+d.why+" |", told[i])
	}
	require.Len(t, rows(chinese, "| kubectl-lite 的不同之处 |"), len(meant))
	require.Greater(t, len(inputs()), 70)
}

// The program stays small: all that is in its folder.
func TestProgram_HasFewerThan1200Lines(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "cmd/kubectl-lite/*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	sum := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		lines := strings.Count(string(text), "\n")
		require.Less(t, lines, 400, file)
		sum += lines
	}
	require.Less(t, sum, 1200)
}
