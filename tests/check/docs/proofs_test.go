package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// proof is a test that a page names, as `folder.TestName`.
var proof = regexp.MustCompile("`([a-z0-9/-]+)\\.(Test\\w+)`")

// The last cell of each row names tests, and they are there.
func TestSwap_EveryRowNamesATestThatShowsIt(t *testing.T) {
	lines := strings.Split(textOf(t, filepath.Join(root, "docs", "use", "swap.md")), "\n")
	rows := 0
	for i, line := range lines {
		cells := strings.Split(line, "|")
		isHead := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|---")
		if len(cells) < 4 || isHead || strings.HasPrefix(line, "|---") {
			continue
		}
		rows++
		named := proof.FindAllStringSubmatch(cells[len(cells)-2], -1)
		require.NotEmpty(t, named, "no test is named for: %s", line)
		for _, n := range named {
			require.Contains(t, testsIn(t, n[1]), "\nfunc "+n[2]+"(", "%s has no test %s, which is named for: %s", n[1], n[2], line)
		}
	}
	require.Greater(t, rows, 100)
}

// testsIn is the text of all tests of a folder.
func testsIn(t *testing.T, folder string) (text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		text += textOf(t, file)
	}
	return text
}
