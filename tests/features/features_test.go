package features

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

const root = "../.."

// proof is a test that the page names, as `folder.TestName`.
var proof = regexp.MustCompile("`([a-z0-9/-]+)\\.(Test\\w+)`")

func TestFeatures_EveryRowNamesATestThatIsThere(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "features.md"))
	require.NoError(t, err)
	tests := map[string]map[string]bool{}
	rows := 0
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.HasPrefix(line, "|---") || strings.TrimSpace(cells[1]) == "what" {
			continue
		}
		rows++
		named := proof.FindAllStringSubmatch(cells[len(cells)-2], -1)
		require.NotEmpty(t, named, "no test is named for: %s", line)
		for _, n := range named {
			folder, name := n[1], n[2]
			if tests[folder] == nil {
				tests[folder] = testsIn(t, folder)
			}
			require.True(t, tests[folder][name], "%s has no test %s, which is named for: %s", folder, name, cells[1])
		}
	}
	require.Greater(t, rows, 60)
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
