package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// proof is a test that the page names, as `folder.TestName`.
var proof = regexp.MustCompile("`([a-z0-9/-]+)\\.(Test\\w+)`")

func TestSwap_EveryRowNamesATestThatShowsIt(t *testing.T) {
	requireProofs(t, "swap.md", 100)
}

// requireProofs checks that the last cell of each row of the page's tables names tests, and that they exist. The page has
// more than atLeast rows.
func requireProofs(t *testing.T, name string, atLeast int) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "use", name))
	require.NoError(t, err)
	tests := map[string]map[string]bool{}
	rows := 0
	lines := strings.Split(string(page), "\n")
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
			folder, test := n[1], n[2]
			if tests[folder] == nil {
				tests[folder] = testsIn(t, folder)
			}
			require.True(t, tests[folder][test], "%s has no test %s, which is named for: %s", folder, test, line)
		}
	}
	require.Greater(t, rows, atLeast)
}

func testsIn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "%s has no tests", folder)
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
