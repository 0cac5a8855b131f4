package cloudmanager

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../../../.."

var codeSpan = regexp.MustCompile("`([^`]+)`")

// TestPage_NamesWhatIsThere holds the tables of docs/learn/operators-side-by-side.md against the code.
func TestPage_NamesWhatIsThere(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "learn", "operators-side-by-side.md"))
	require.NoError(t, err)
	theirs, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/controller-runtime").Output()
	require.NoError(t, err)
	columns := []struct{ own, packages string }{
		{filepath.Join(root, "cmd", "cloudmanager"), root},
		{".", filepath.Join(strings.TrimSpace(string(theirs)), "pkg")},
	}
	own := []map[string]bool{names(t, columns[0].own), names(t, columns[1].own)}
	named := []map[string]bool{{}, {}}
	rows := 0
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| what |") {
			continue
		}
		rows++
		for i, column := range columns {
			for _, m := range codeSpan.FindAllStringSubmatch(cells[i+2], -1) {
				named[i][m[1]] = true
				if !own[i][m[1]] {
					folder, name := split(m[1])
					assert.Contains(t, names(t, filepath.Join(column.packages, folder)), name, "%s: %s", cells[1], m[1])
				}
			}
		}
	}
	require.Greater(t, rows, 20)
	for i, files := range [][]string{{"reconciler.go", "reconcile.go"}, {"manager.go", "reconcile.go"}} {
		for _, file := range files {
			for _, f := range functions(t, filepath.Join(columns[i].own, file)) {
				assert.True(t, named[i][f], "%s of %s is on no row of the page", f, file)
			}
		}
	}
}

// split parts a name such as cmd/internal/operator.Run, or client.Reader, into folder and name.
func split(qualified string) (folder, name string) {
	slash := strings.LastIndex(qualified, "/") + 1
	of, name, found := strings.Cut(qualified[slash:], ".")
	if !found {
		return "", qualified
	}
	return qualified[:slash] + of, name
}

// names are the functions, methods and types of a folder. A method is Type.Method.
func names(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	all := map[string]bool{}
	for _, file := range files {
		for _, f := range functions(t, file) {
			all[f] = true
		}
		for _, d := range parse(t, file).Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						all[s.Name.Name] = true
					}
				}
			}
		}
	}
	return all
}

// functions are those of a file, methods as Type.Method.
func functions(t *testing.T, file string) (all []string) {
	t.Helper()
	for _, d := range parse(t, file).Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = receiver(f.Recv.List[0].Type) + "." + name
		}
		all = append(all, name)
	}
	return all
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	default:
		return e.(*ast.Ident).Name
	}
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	return parsed
}
