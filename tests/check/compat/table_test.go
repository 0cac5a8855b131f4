package compat

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	tables "glasswatch/compat"
)

// Table is a section of compat/differences.txt, and the two packages it compares.
type Table struct {
	folder       string // of the facade
	rows         map[string]row
	members      map[string]row // by Type.Member
	theirMembers map[string]bool
	theirs, ours map[string]export
}

// row is what the page says of a name.
type row struct{ here, how string }

// export is a name that a package exports.
type export struct {
	// params and results are a function's, without their names; empty for anything else.
	params, results string
	is              string // "alias" or "the same value", empty for anything else
}

// readTable reads the section of client-go's package importPath, and the facade in a folder.
func readTable(t *testing.T, importPath, folder string) Table {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", importPath).Output()
	require.NoError(t, err)
	table := Table{folder: folder}
	table.rows, table.members = readRows(t, importPath)
	table.theirs, table.theirMembers = exportsOf(t, strings.TrimSpace(string(dir)))
	table.ours, _ = exportsOf(t, folder)
	require.NotEmpty(t, table.theirs)
	for name := range table.theirs {
		if _, told := table.rows[name]; !told {
			table.rows[name] = row{here: "same", how: table.ours[name].is}
		}
	}
	return table
}

// readRows returns the rows of names in rows, and those of fields and methods in members.
func readRows(t *testing.T, importPath string) (rows, members map[string]row) {
	t.Helper()
	all, err := tables.Rows(importPath)
	require.NoError(t, err)
	rows, members = map[string]row{}, map[string]row{}
	for _, r := range all {
		of := rows
		if strings.Contains(r.Name, ".") {
			of = members
		}
		require.NotContains(t, of, r.Name, "listed twice")
		of[r.Name] = row{here: r.Class, how: r.Words}
	}
	return rows, members
}

// page is the table in Markdown, in the order of the alphabet. A field or method follows its type.
func (table Table) page() string {
	all := maps.Clone(table.rows)
	maps.Copy(all, table.members)
	text := "| name | here | how |\n|---|---|---|\n"
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text += fmt.Sprintf("| `%s` | %s | %s |\n", name, all[name].here, all[name].how)
	}
	return text
}

// RequireTruth compares every row with the sources. A name that is same or different exists here with client-go's
// signature, except for results that the row says are different.
func (table Table) RequireTruth(t *testing.T) {
	t.Helper()
	table.requireMembers(t)
	table.requireOneClass(t)
	for name, row := range table.rows {
		theirs, ours := table.theirs[name], table.ours[name]
		switch row.here {
		case "same", "different":
			require.Contains(t, table.theirs, name, "client-go has no such name")
			require.Contains(t, table.ours, name, "only what is here can be the same, or different")
			require.Equal(t, theirs.params, ours.params, name)
			if row.here == "different" {
				require.NotEmpty(t, row.how, "%s differs, but how?", name)
			}
			if row.here == "same" || !strings.HasPrefix(row.how, "returns ") {
				require.Equal(t, theirs.results, ours.results, name)
			}
		case "added":
			require.Contains(t, table.ours, name, "the table says that it is here")
			require.NotContains(t, table.theirs, name, "the table says that client-go has no such name")
		default:
			t.Errorf("%s is %q, which is neither same, different nor added", name, row.here)
		}
	}
	var unlisted []string
	for name := range table.ours {
		if _, listed := table.rows[name]; !listed {
			unlisted = append(unlisted, name)
		}
	}
	require.Empty(t, unlisted, "the facade has names that the table has not")
}

func exportsOf(t *testing.T, dir string) (exports map[string]export, members map[string]bool) {
	t.Helper()
	exports, members = map[string]export{}, map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			addExports(t, exports, decl)
			addMembers(members, decl)
		}
	}
	return exports, members
}

func addExports(t *testing.T, exports map[string]export, decl ast.Decl) {
	add := func(name *ast.Ident, e export) {
		if name.IsExported() {
			exports[name.Name] = e
		}
	}
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			add(decl.Name, signatureOf(t, decl.Type))
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				is := ""
				if spec.Assign != token.NoPos {
					is = "alias"
				}
				add(spec.Name, export{is: is})
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					add(n, export{is: "the same value"})
				}
			}
		}
	}
}

// signatureOf prints a function's types, one for each name of its parameters and results.
func signatureOf(t *testing.T, f *ast.FuncType) export {
	t.Helper()
	return export{
		params:  printed(t, &ast.FuncType{TypeParams: f.TypeParams, Params: anonymous(f.Params)}),
		results: printed(t, &ast.FuncType{Params: &ast.FieldList{}, Results: anonymous(f.Results)}),
	}
}

func anonymous(list *ast.FieldList) *ast.FieldList {
	if list == nil {
		return nil
	}
	var fields []*ast.Field
	for _, field := range list.List {
		for range max(len(field.Names), 1) {
			fields = append(fields, &ast.Field{Type: field.Type})
		}
	}
	return &ast.FieldList{List: fields}
}

func printed(t *testing.T, f *ast.FuncType) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, printer.Fprint(&text, token.NewFileSet(), f))
	return strings.ReplaceAll(text.String(), "interface{}", "any")
}
