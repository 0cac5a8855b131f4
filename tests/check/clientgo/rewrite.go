package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// rewriter writes what is kept of a package's test files so that it tests another package with the same exported names.
type rewriter struct {
	g *graph
	// facades maps import paths of client-go to those that stand in.
	facades map[string]string
	kept    map[*node]bool
	// renamed are declarations that name the type that a facade's constructor returns.
	renamed map[*node]bool
}

// newRewriter keeps the tests that need no unexported name, and what they and the program around them need.
func newRewriter(g *graph, facades map[string]string, tests []test) *rewriter {
	r := &rewriter{g: g, facades: facades, kept: map[*node]bool{}, renamed: map[*node]bool{}}
	for _, t := range tests {
		if len(t.unexported) == 0 {
			maps.Copy(r.kept, t.needs)
		}
	}
	for _, n := range g.nodes {
		f, ok := n.decl.(*ast.FuncDecl)
		if ok && f.Recv == nil && (f.Name.Name == "TestMain" || f.Name.Name == "init") {
			maps.Copy(r.kept, reach(n))
		}
	}
	return r
}

// write writes the files into a folder, and returns their names.
func (r *rewriter) write(dir string) (names []string, err error) {
	for _, file := range r.g.files() {
		text := r.file(file)
		if text == nil {
			continue
		}
		name := filepath.Base(file.path)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

var ownStructPointer = regexp.MustCompile(`\*` + ownStruct + `\b`)

// reflectorPointer is the one type that a program must call by another name: NewReflector returns a *StoreReflector.
var reflectorPointer = regexp.MustCompile(`\*Reflector\b`)

// file copies the declarations that are kept, each with its place in the original, which the go command then reports.
// It returns nil if there are none.
func (r *rewriter) file(file *testFile) []byte {
	var decls bytes.Buffer
	imports := map[string]string{} // by local name
	for _, n := range r.g.nodes {
		if n.file != file || !r.kept[n] {
			continue
		}
		from, to := r.g.src.fset.Position(n.decl.Pos()), r.g.src.fset.Position(n.decl.End())
		text := ownStructPointer.ReplaceAll(file.text[from.Offset:to.Offset], []byte("SharedIndexInformer"))
		if r.renamed[n] {
			text = reflectorPointer.ReplaceAll(text, []byte("*StoreReflector"))
		}
		fmt.Fprintf(&decls, "\n//line %s:%d\n%s\n", file.path, from.Line, text)
		r.collectImports(n, imports)
	}
	if decls.Len() == 0 {
		return nil
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "package %s_test\n\n", r.g.src.pkg.Name())
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&text, "import %s %q\n", name, imports[name])
	}
	text.Write(decls.Bytes())
	return text.Bytes()
}

// collectImports adds what a declaration needs. The tested package itself is imported with a dot, so that its names
// stand alone as in the original.
func (r *rewriter) collectImports(n *node, imports map[string]string) {
	ast.Inspect(n.decl, func(at ast.Node) bool {
		id, ok := at.(*ast.Ident)
		if !ok {
			return true
		}
		switch obj := r.g.src.uses[id].(type) {
		case nil:
		case *types.PkgName:
			imports[obj.Name()] = r.standIn(obj.Imported().Path())
		default:
			if obj.Pkg() == r.g.src.pkg && obj.Parent() == obj.Pkg().Scope() && r.g.at(obj.Pos()) == nil {
				imports["."] = r.standIn(r.g.src.importPath)
			}
		}
		return true
	})
}

func (r *rewriter) standIn(path string) string {
	if facade, ok := r.facades[path]; ok {
		return facade
	}
	return path
}
