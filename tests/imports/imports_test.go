// Package imports holds the test that keeps the import table of ARCHITECTURE.md true.
package imports

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "glasswatch"
	root   = "../.."
)

// allowed is the import table: what each part of the tree may import of ours.
// A row covers the folders below it; "" stands for the row itself.
var allowed = map[string][]string{
	"deltafifo":          {},
	"indexer":            {},
	"workqueue":          {},
	"listwatch":          {},
	"reflector":          {"listwatch"},
	"sharedinformer":     {"listwatch", "reflector", "deltafifo", "indexer"},
	"controller":         {"listwatch", "workqueue", "sharedinformer"},
	"compat":             {"listwatch", "reflector", "deltafifo", "indexer", "sharedinformer", "workqueue"},
	"internal/apiserver": {},
}

var leaves = []string{"deltafifo", "indexer", "workqueue"}

// machinery may be imported by compat, tests and benchmarks only.
var machinery = []string{"k8s.io/client-go/tools/cache", "k8s.io/client-go/util/workqueue"}

func TestImportTable_DirectImportsFollowTheTable(t *testing.T) {
	seen := map[string]bool{}
	forEachImport(t, func(dir, file, imported string) {
		row := rowOf(dir)
		if row == "" {
			return // cmd and tests may import anything
		}
		seen[row] = true
		ours, isOurs := strings.CutPrefix(imported, module+"/")
		if !isOurs || rowOf(ours) == row {
			return
		}
		require.Contains(t, allowed[row], rowOf(ours), "%s imports %s, which the table does not allow", file, imported)
	})
	for row := range allowed {
		if row != "compat" {
			require.True(t, seen[row], "the table has a row for %s, but there is no such package", row)
		}
	}
}

func TestImportTable_ClientGoMachineryStaysOutOfTheLayers(t *testing.T) {
	forEachImport(t, func(dir, file, imported string) {
		if rowOf(dir) == "compat" || strings.HasPrefix(dir, "tests/") {
			return
		}
		require.NotContains(t, machinery, imported, "%s", file)
	})
}

func TestImportTable_LeavesAreFreeOfKubernetesTransitively(t *testing.T) {
	for _, leaf := range leaves {
		cmd := exec.Command("go", "list", "-deps", "./"+leaf)
		cmd.Dir = root
		out, err := cmd.Output()
		require.NoError(t, err, "go list -deps ./%s", leaf)
		deps := strings.Fields(string(out))
		require.Contains(t, deps, module+"/"+leaf)
		for _, dep := range deps {
			require.False(t, strings.HasPrefix(dep, "k8s.io/") || strings.HasPrefix(dep, "sigs.k8s.io/"),
				"%s depends on %s", leaf, dep)
		}
	}
}

// rowOf gives the row of the table that a folder belongs to, "" for none.
func rowOf(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, found := allowed[dir]; found {
			return dir
		}
	}
	return ""
}

// forEachImport visits every import of every non-test file of the module.
func forEachImport(t *testing.T, visit func(dir, file, imported string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".") && rel != "." || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			visit(path.Dir(rel), rel, imported)
		}
		return nil
	})
	require.NoError(t, err)
}
