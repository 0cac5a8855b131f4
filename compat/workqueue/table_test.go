package workqueue

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is what README.md says of a name.
type row struct{ here, how string }

func readTable(t *testing.T) map[string]row {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## util/workqueue\n")
	require.True(t, found, "README.md has no section util/workqueue")
	section, _, _ = strings.Cut(section, "\n## ")
	table := map[string]row{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([a-z ]+) \\| (.*?) ?\\|$").FindAllStringSubmatch(section, -1) {
		require.NotContains(t, table, m[1], "listed twice")
		table[m[1]] = row{here: m[2], how: m[3]}
	}
	return table
}

// export is a name that a package exports.
type export struct {
	deprecated bool
	// signature is that of a function, without the names of its parameters; empty for anything else.
	signature string
}

func exportsOf(t *testing.T, dir string) map[string]export {
	t.Helper()
	exports := map[string]export{}
	add := func(name *ast.Ident, signature string, docs ...*ast.CommentGroup) {
		if name.IsExported() {
			deprecated := slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return strings.Contains(d.Text(), "Deprecated: ") })
			exports[name.Name] = export{deprecated: deprecated, signature: signature}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(decl.Name, signatureOf(t, decl.Type), decl.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name, "", decl.Doc, spec.Doc)
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							add(n, "", decl.Doc, spec.Doc)
						}
					}
				}
			}
		}
	}
	return exports
}

// signatureOf prints a function's type, one anonymous parameter for each name.
func signatureOf(t *testing.T, f *ast.FuncType) string {
	t.Helper()
	var fields []*ast.Field
	for _, field := range f.Params.List {
		for range max(len(field.Names), 1) {
			fields = append(fields, &ast.Field{Type: field.Type})
		}
	}
	f.Params.List = fields
	var text strings.Builder
	require.NoError(t, printer.Fprint(&text, token.NewFileSet(), f))
	return text.String()
}

func clientGoExports(t *testing.T) map[string]export {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "k8s.io/client-go/util/workqueue").Output()
	require.NoError(t, err)
	exports := exportsOf(t, strings.TrimSpace(string(dir)))
	require.NotEmpty(t, exports)
	return exports
}

func TestTable_ListsEveryNameOfClientGoAndNoOther(t *testing.T) {
	require.Equal(t, slices.Sorted(maps.Keys(clientGoExports(t))), slices.Sorted(maps.Keys(readTable(t))))
}

func TestTable_SaysWhatThereIs(t *testing.T) {
	theirs, ours := clientGoExports(t), exportsOf(t, ".")
	for name, row := range readTable(t) {
		switch row.here {
		case "same", "different":
			require.Contains(t, ours, name, "the table says that it is here")
			require.Equal(t, theirs[name].signature, ours[name].signature, name)
			if row.here == "different" {
				require.NotEmpty(t, row.how, "%s differs, but how?", name)
			}
		case "left out":
			require.NotContains(t, ours, name, "the table says that it is left out")
			require.True(t, theirs[name].deprecated, "%s is left out, but not deprecated", name)
			to := regexp.MustCompile("^deprecated; `(\\w+)`$").FindStringSubmatch(row.how)
			require.NotNil(t, to, "%s: what to use instead?", name)
			require.Contains(t, ours, to[1], "%s: what to use instead is not here", name)
		default:
			t.Errorf("%s is %q, which is neither same, different nor left out", name, row.here)
		}
	}
	for name := range ours {
		require.Contains(t, theirs, name, "the facade has a name that client-go has not")
	}
}
