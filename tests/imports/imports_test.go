// Package imports holds two tables of ARCHITECTURE.md against the code: who imports whom, and how many lines a core has.
package imports

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// machinery is what the layers replace. Only the facades, the comparison in the lens and tests import it.
var (
	machinery        = []string{"k8s.io/client-go/tools/cache", "k8s.io/client-go/util/workqueue"}
	machineryAllowed = []string{"compat/", "internal/lens/beside/", "tests/"}
)

// rule is a row of the table of imports.
type rule struct {
	pkg      string   // a package, or with /… all below a folder
	imports  []string // of ours; nil with anything
	anything bool
	leaf     bool // depends on nothing of Kubernetes, not even indirectly
}

func (r rule) covers(pkg string) bool {
	folder, below := strings.CutSuffix(r.pkg, "/…")
	return pkg == folder || below && strings.HasPrefix(pkg, folder+"/")
}

// rows returns the cells of the table whose first column has that title.
func rows(fsys fs.FS, title string) (table [][]string, err error) {
	text, err := fs.ReadFile(fsys, "ARCHITECTURE.md")
	if err != nil {
		return nil, err
	}
	_, after, found := strings.Cut(string(text), "\n| "+title+" |")
	if !found {
		return nil, fmt.Errorf("ARCHITECTURE.md: expected a table whose first column is called %q, found none", title)
	}
	for i, line := range strings.Split(after, "\n") {
		if i < 2 { // the rest of the head, and the line under it
			continue
		}
		if !strings.HasPrefix(line, "|") {
			break
		}
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		table = append(table, cells)
	}
	return table, nil
}

func quoted(cell string) (names []string) {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			names = append(names, part)
		}
	}
	return names
}

func readRules(fsys fs.FS) (rules []rule, err error) {
	table, err := rows(fsys, "package")
	if err != nil {
		return nil, err
	}
	var layers []string // all packages of the rows above
	for _, row := range table {
		if len(row) != 4 {
			return nil, fmt.Errorf("ARCHITECTURE.md: expected four columns, came %q", row)
		}
		for _, name := range quoted(row[0]) {
			r := rule{pkg: name, imports: quoted(row[3]), anything: row[3] == "anything", leaf: row[2] == "no"}
			if row[3] == "the layers" {
				r.imports = slices.Clone(layers)
			}
			rules, layers = append(rules, r), append(layers, name)
		}
	}
	return rules, nil
}

// sources are the Go files of the module, tests apart, each with what it imports.
func sources(fsys fs.FS) (files map[string][]string, err error) {
	files = map[string][]string{}
	err = fs.WalkDir(fsys, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && file != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || file == "tests/check") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files[file] = nil
		for _, spec := range parsed.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
			files[file] = append(files[file], imported)
		}
		return nil
	})
	return files, err
}

// check returns what is wrong, a line each.
func check(fsys fs.FS) (problems []string, err error) {
	rules, err := readRules(fsys)
	if err != nil {
		return nil, err
	}
	files, err := sources(fsys)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for file, imports := range files {
		var of rule // the longest name that covers the package
		for _, r := range rules {
			if r.covers(path.Dir(file)) && len(r.pkg) > len(of.pkg) {
				of = r
			}
		}
		if of.pkg == "" {
			problems = append(problems, fmt.Sprintf("ARCHITECTURE.md: expected a row for %s, came none", path.Dir(file)))
			continue
		}
		used[of.pkg] = true
		for _, imported := range imports {
			ours, isOurs := strings.CutPrefix(imported, "glasswatch/")
			if isOurs && !of.anything && !of.covers(ours) && !slices.Contains(of.imports, ours) {
				problems = append(problems, fmt.Sprintf("%s: expected imports of %v only, came %s", file, of.imports, ours))
			}
			if of.leaf && strings.Contains(imported, "k8s.io/") {
				problems = append(problems, fmt.Sprintf("%s: expected nothing of Kubernetes, came %s", file, imported))
			}
			inPlace := func(folder string) bool { return strings.HasPrefix(file, folder) }
			if slices.Contains(machinery, imported) && !slices.ContainsFunc(machineryAllowed, inPlace) {
				problems = append(problems, fmt.Sprintf("%s: expected no machinery of client-go but in %v, came %s", file, machineryAllowed, imported))
			}
		}
	}
	for _, r := range rules {
		if !used[r.pkg] {
			problems = append(problems, fmt.Sprintf("ARCHITECTURE.md: expected a package for the row %s, came none", r.pkg))
		}
	}
	// A leaf imports leaves only, so that it is free of Kubernetes indirectly as well.
	for _, r := range rules {
		for _, imported := range r.imports {
			i := slices.IndexFunc(rules, func(r rule) bool { return r.pkg == imported })
			if r.leaf && (i < 0 || !rules[i].leaf) {
				problems = append(problems, fmt.Sprintf("ARCHITECTURE.md: %s knows nothing of Kubernetes, and imports %s", r.pkg, imported))
			}
		}
	}
	return problems, nil
}

func TestArchitecture_ImportsFollowTheTable(t *testing.T) {
	problems, err := check(os.DirFS("../.."))
	require.NoError(t, err)
	require.Empty(t, problems)
}

// A ceiling says when to think. Each has 15 % of air.
func TestArchitecture_CoresAreBelowTheirCeilings(t *testing.T) {
	table, err := rows(os.DirFS("../.."), "core")
	require.NoError(t, err)
	require.Len(t, table, 7)
	for _, row := range table {
		ceiling, err := strconv.Atoi(strings.ReplaceAll(row[1], ",", ""))
		require.NoError(t, err)
		files, err := fs.Glob(os.DirFS("../.."), strings.Trim(row[0], "`")+"/*.go")
		require.NoError(t, err)
		lines := 0
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				text, err := os.ReadFile("../../" + file)
				require.NoError(t, err)
				lines += strings.Count(string(text), "\n")
			}
		}
		require.Positive(t, lines)
		require.LessOrEqual(t, lines, ceiling, "%s: think again, or say in ARCHITECTURE.md why it needs more", row[0])
	}
}

// Each check is seen to fail, on a repository in memory.
func TestCheck_NamesWhereWhatWasExpectedAndWhatCame(t *testing.T) {
	sound := map[string]string{
		"ARCHITECTURE.md": "\n| package | what | Kubernetes? | imports |\n|---|\n| `leaf` | | no | none |\n| `layer` | | yes | `leaf` |\n| `compat/…` | | yes | the layers |\n| `tests/…` | | | anything |\n",
		"leaf/leaf.go":    "package leaf\n", "layer/layer.go": "package layer\n\nimport _ \"glasswatch/leaf\"\n",
		"compat/c/c.go": "package c\n\nimport (\n\t_ \"glasswatch/layer\"\n\t_ \"k8s.io/client-go/tools/cache\"\n)\n", "tests/t.go": "package tests\n",
	}
	for _, c := range []struct{ file, text, want string }{
		{"leaf/leaf.go", sound["leaf/leaf.go"], ""},
		{"leaf/leaf.go", "package leaf\n\nimport _ \"glasswatch/layer\"\n", "leaf/leaf.go: expected imports of [] only, came layer"},
		{"leaf/leaf.go", "package leaf\n\nimport _ \"k8s.io/api/core/v1\"\n", "leaf/leaf.go: expected nothing of Kubernetes, came k8s.io/api/core/v1"},
		{"layer/layer.go", "package layer\n\nimport _ \"k8s.io/client-go/util/workqueue\"\n", "layer/layer.go: expected no machinery of client-go"},
		{"layer/part/part.go", "package part\n", "ARCHITECTURE.md: expected a row for layer/part, came none"},
		{"ARCHITECTURE.md", strings.Replace(sound["ARCHITECTURE.md"], "| `tests", "| `gone` | | no | `layer` |\n| `tests", 1), "gone knows nothing of Kubernetes, and imports layer"},
		{"ARCHITECTURE.md", "# no table", `a table whose first column is called "package", found none`},
	} {
		fsys := fstest.MapFS{}
		for file, text := range sound {
			fsys[file] = &fstest.MapFile{Data: []byte(text)}
		}
		fsys[c.file] = &fstest.MapFile{Data: []byte(c.text)}
		problems, err := check(fsys)
		said := strings.Join(problems, "\n")
		if err != nil {
			said = err.Error()
		}
		if c.want == "" {
			require.Empty(t, said)
		}
		require.Contains(t, said, c.want)
	}
}
