package exercises

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// Exercise is a function that the reader writes.
type Exercise struct {
	Folder string // in tests/exercises; begins with the number
	File   string // where the function is, from the root of the repository
	Func   string // its name; each is the only one of its name in its file
}

// All are the exercises.
var All = []Exercise{
	{"01-fold-deltas", "deltafifo/deltafifo.go", "appendLocked"},
	{"02-tombstones-on-replace", "deltafifo/deltafifo.go", "appendTombstonesLocked"},
	{"03-file-an-index-entry", "indexer/index.go", "refile"},
	{"04-take-a-snapshot", "indexer/table.go", "writable"},
	{"05-swap-a-buffer", "sharedinformer/backlog.go", "take"},
	{"06-done-and-dirty", "workqueue/queue.go", "Done"},
	{"07-next-backoff", "reflector/backoff/backoff.go", "Next"},
	{"08-reconcile", "controller/ingress/reconcile.go", "reconcile"},
}

// Number is what the exercise is called by: 01.
func (e Exercise) Number() string { return e.Folder[:2] }

// Layer is the folder of the function.
func (e Exercise) Layer() string { return path.Dir(e.File) }

// Blank is the body that stands for "your turn".
func (e Exercise) Blank() string {
	return fmt.Sprintf("panic(\"exercise %s: %s is blank: see tests/exercises/%s/README.md\")", e.Number(), e.Func, e.Folder)
}

// With returns the text of the exercise's file with another body in its function, and the line in which the function begins. Imports
// that only the old body used are kept as _, so that the file compiles.
func (e Exercise) With(text []byte, body string) (changed []byte, line int, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, e.File, text, parser.ParseComments)
	if err != nil {
		return nil, 0, err
	}
	f, err := e.find(file)
	if err != nil {
		return nil, 0, err
	}
	at := func(p token.Pos) int { return set.Position(p).Offset }
	body = "{\n\t" + strings.ReplaceAll(body, "\n", "\n\t") + "\n}"
	changed = append(append(bytes.Clone(text[:at(f.Body.Pos())]), body...), text[at(f.Body.End()):]...)
	return keepImports(changed, file), set.Position(f.Pos()).Line, nil
}

func (e Exercise) find(file *ast.File) (*ast.FuncDecl, error) {
	var found []*ast.FuncDecl
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == e.Func {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s has %d functions named %s, not one", e.File, len(found), e.Func)
	}
	return found[0], nil
}

// keepImports renames the imports that text no longer uses to _. before is the file as it was.
func keepImports(text []byte, before *ast.File) []byte {
	after, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return text // the compiler says it better
	}
	used := map[string]bool{}
	ast.Inspect(after, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, spec := range before.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil || spec.Name != nil || used[nameOf(imported)] {
			continue
		}
		text = bytes.Replace(text, []byte("\t"+spec.Path.Value), []byte("\t_ "+spec.Path.Value), 1)
	}
	return text
}

// nameOf is the name of a package that is imported without one: the last part of its path that is no version.
func nameOf(imported string) string {
	dir, last := path.Split(imported)
	if len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		return path.Base(dir)
	}
	return last
}
