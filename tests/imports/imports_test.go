// Package imports holds two tables of ARCHITECTURE.md against the code: who imports whom, and how many lines a core has.
package imports

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// machinery is what the layers replace. Only the facades, the comparison in the lens and tests import it. The facades
// take contracts from it, and the types for which the layers have no machinery: compat/cache/clientgo.go lists them.
var (
	machinery        = []string{"k8s.io/client-go/tools/cache", "k8s.io/client-go/util/workqueue"}
	machineryAllowed = []string{"compat/", "internal/lens/beside/", "lens/", "tests/"}
)

// rule is a row of the table of imports.
type rule struct {
	pkg      string   // a package, or with /… all below a folder
	imports  []string // of ours
	anything bool
	leaf     bool // depends on nothing of Kubernetes, not even indirectly
}

func (r rule) covers(pkg string) bool {
	folder, below := strings.CutSuffix(r.pkg, "/…")
	return pkg == folder || below && strings.HasPrefix(pkg, folder+"/")
}

// rows returns the cells of the table whose first column has that title.
func rows(t *testing.T, title string) (table [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(text), "\n| "+title+" |")
	after, _, _ = strings.Cut(after, "\n\n")
	lines := strings.Split(after, "\n")
	require.Greater(t, len(lines), 2, "ARCHITECTURE.md has no table whose first column is %q", title)
	for _, line := range lines[2:] { // below the head
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		table = append(table, cells)
	}
	return table
}

// readRules returns the rules by package, as the table names it.
func readRules(t *testing.T) map[string]rule {
	rules := map[string]rule{}
	var above []string // all packages of the rows so far
	for _, row := range rows(t, "package") {
		require.Len(t, row, 4)
		pkg := strings.Trim(row[0], "`")
		r := rule{pkg: pkg, anything: row[3] == "anything", leaf: row[2] == "no"}
		for i, part := range strings.Split(row[3], "`") {
			if i%2 == 1 { // in backquotes
				r.imports = append(r.imports, part)
			}
		}
		if row[3] == "the layers" {
			r.imports = slices.Clone(above)
		}
		rules[pkg], above = r, append(above, pkg)
	}
	return rules
}

// packages are those of the module, without their tests.
func packages(t *testing.T) map[string]*build.Package {
	all := map[string]*build.Package{}
	require.NoError(t, filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		pkg := strings.TrimPrefix(filepath.ToSlash(dir), root+"/")
		if pkg != root && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || pkg == "tests/check" {
			return fs.SkipDir
		}
		if found, err := build.ImportDir(dir, 0); err == nil && len(found.GoFiles) > 0 {
			all[pkg] = found
		}
		return nil
	}))
	return all
}

func TestArchitecture_ImportsFollowTheTable(t *testing.T) {
	rules, used := readRules(t), map[string]bool{}
	for pkg, found := range packages(t) {
		var of rule // the longest name that covers the package
		for _, r := range rules {
			if r.covers(pkg) && len(r.pkg) > len(of.pkg) {
				of = r
			}
		}
		assert.NotEmpty(t, of.pkg, "ARCHITECTURE.md has no row for %s", pkg)
		used[of.pkg] = true
		for _, imported := range found.Imports {
			ours, isOurs := strings.CutPrefix(imported, "glasswatch/")
			if isOurs && !of.anything && !of.covers(ours) {
				assert.Contains(t, of.imports, ours, "imports of %s", pkg)
			}
			// A leaf imports leaves only, so that it is free of Kubernetes indirectly as well.
			if of.leaf {
				assert.NotContains(t, imported, "k8s.io/", "imports of %s", pkg)
				assert.True(t, !isOurs || rules[ours].leaf, "%s knows nothing of Kubernetes, and imports %s", pkg, ours)
			}
			if slices.Contains(machinery, imported) {
				allowed := slices.ContainsFunc(machineryAllowed, func(folder string) bool { return strings.HasPrefix(pkg+"/", folder) })
				assert.True(t, allowed, "%s imports %s", pkg, imported)
			}
		}
	}
	for pkg := range rules {
		assert.True(t, used[pkg], "ARCHITECTURE.md has a row for %s, which is not there", pkg)
	}
}

// A ceiling says when to think. Each has 15 % of air.
func TestArchitecture_CoresAreBelowTheirCeilings(t *testing.T) {
	table := rows(t, "core")
	require.Len(t, table, 7)
	for _, row := range table {
		ceiling, err := strconv.Atoi(strings.ReplaceAll(row[1], ",", ""))
		require.NoError(t, err)
		core, err := build.ImportDir(filepath.Join(root, strings.Trim(row[0], "`")), 0)
		require.NoError(t, err)
		lines := 0
		for _, file := range core.GoFiles {
			text, err := os.ReadFile(filepath.Join(core.Dir, file))
			require.NoError(t, err)
			lines += strings.Count(string(text), "\n")
		}
		require.LessOrEqual(t, lines, ceiling, "%s: think again, or say in ARCHITECTURE.md why it needs more", row[0])
	}
}
