package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// node is a declaration at the top of a test file, with what it uses.
type node struct {
	decl ast.Decl
	file *testFile
	// needs are declarations of test files. A type needs its methods.
	needs map[*node]bool
	// unexported are the names that only the package itself can use.
	unexported map[string]bool
}

// graph is what the test files of a package declare.
type graph struct {
	src   *source
	nodes []*node
}

func newGraph(src *source) *graph {
	g := &graph{src: src}
	for _, file := range g.files() {
		for _, decl := range file.ast.Decls {
			if d, ok := decl.(*ast.GenDecl); !ok || d.Tok != token.IMPORT {
				n := &node{decl: decl, file: file, needs: map[*node]bool{}, unexported: map[string]bool{}}
				g.nodes = append(g.nodes, n)
			}
		}
	}
	for _, n := range g.nodes {
		g.link(n)
	}
	return g
}

func (g *graph) files() []*testFile { return slices.Concat(g.src.tests, g.src.outside) }

func (g *graph) link(n *node) {
	if f, ok := n.decl.(*ast.FuncDecl); ok && f.Recv != nil {
		if of := g.receiver(f); of != nil {
			of.needs[n] = true
		} else {
			n.unexported["."+f.Name.Name] = true // a method that a test adds to a type of the package
		}
	}
	ast.Inspect(n.decl, func(at ast.Node) bool {
		id, ok := at.(*ast.Ident)
		if !ok {
			return true
		}
		obj := g.src.uses[id]
		if obj == nil {
			return true
		}
		switch declared := g.at(obj.Pos()); {
		case declared != nil && declared != n:
			n.needs[declared] = true
		case declared == nil && obj.Pkg() == g.src.pkg && !isImport(obj) && !obj.Exported():
			n.unexported[qualified(obj)] = true
		}
		return true
	})
}

// at returns the declaration around a position; nil if it is in no test file.
func (g *graph) at(pos token.Pos) *node {
	for _, n := range g.nodes {
		if n.decl.Pos() <= pos && pos < n.decl.End() {
			return n
		}
	}
	return nil
}

// line returns the declaration around a line of a file.
func (g *graph) line(path string, line int) *node {
	for _, n := range g.nodes {
		from, to := g.src.fset.Position(n.decl.Pos()), g.src.fset.Position(n.decl.End())
		if n.file.path == path && from.Line <= line && line <= to.Line {
			return n
		}
	}
	return nil
}

// receiver returns the declaration of a method's type.
func (g *graph) receiver(f *ast.FuncDecl) (of *node) {
	ast.Inspect(f.Recv.List[0].Type, func(at ast.Node) bool {
		if id, ok := at.(*ast.Ident); ok && of == nil {
			if obj := g.src.uses[id]; obj != nil {
				of = g.at(obj.Pos())
			}
		}
		return of == nil
	})
	return of
}

func isImport(obj types.Object) bool {
	_, is := obj.(*types.PkgName)
	return is
}

// qualified puts a dot before the name of a field or method.
func qualified(obj types.Object) string {
	switch obj := obj.(type) {
	case *types.Func:
		if obj.Signature().Recv() != nil {
			return "." + obj.Name()
		}
	case *types.Var:
		if obj.IsField() {
			return "." + obj.Name()
		}
	}
	return obj.Name()
}

// reach returns all that a declaration needs, itself included.
func reach(from *node) map[*node]bool {
	seen := map[*node]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		if !seen[n] {
			seen[n] = true
			for next := range n.needs {
				visit(next)
			}
		}
	}
	visit(from)
	return seen
}

// ownStruct is the struct behind client-go's SharedIndexInformer. Many tests assert an informer to it for no other reason
// than that NewSharedInformer returns less. The interface does as well.
const ownStruct = "sharedIndexInformer"

// test is a test or an example of client-go.
type test struct {
	name string
	// unexported are the names that keep it from running elsewhere.
	unexported []string
	// asserts: it asserts that an informer is client-go's own struct, and uses exported methods of it.
	asserts bool
	needs   map[*node]bool
}

// tests returns the tests and the examples.
func (g *graph) tests() (found []test) {
	for _, n := range g.nodes {
		f, ok := n.decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !isTest(f) {
			continue
		}
		t := test{name: f.Name.Name, needs: reach(n)}
		names := map[string]bool{}
		for needed := range t.needs {
			maps.Copy(names, needed.unexported)
		}
		t.asserts = names[ownStruct]
		delete(names, ownStruct)
		t.unexported = slices.Sorted(maps.Keys(names))
		found = append(found, t)
	}
	return found
}

// isTest goes by the name, as the go command does. TestMain is none: it is the frame of all.
func isTest(f *ast.FuncDecl) bool {
	name := f.Name.Name
	return strings.HasPrefix(name, "Test") && name != "TestMain" || strings.HasPrefix(name, "Example")
}
