package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
)

// problem is an error of the type checker in a declaration.
type problem struct {
	at  *node
	msg string
}

// compile checks the types of what r would write.
func (r *rewriter) compile(root string) ([]problem, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	imports := map[string]bool{}
	for _, file := range r.g.files() {
		text := r.file(file)
		if text == nil {
			continue
		}
		parsed, err := parser.ParseFile(fset, file.path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, parsed)
		for _, spec := range parsed.Imports {
			imports[pathOf(spec)] = true
		}
	}
	imported, err := importerFor(root, fset, imports)
	if err != nil {
		return nil, err
	}
	var found []problem
	config := types.Config{Importer: imported, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) {
			at := fset.Position(e.Pos)
			found = append(found, problem{at: r.g.line(at.Filename, at.Line), msg: e.Msg})
		}
	}}
	_, _ = config.Check(r.g.src.importPath+"_test", fset, files, nil)
	return found, nil
}

// missingMethod is how the type checker names a method that tests add to a type of the package.
var missingMethod = regexp.MustCompile(`missing method (\w+)`)

// excludeAdditions finds the tests that do not compile outside of client-go's own package although they name exported
// names only: they add methods to its types.
func excludeAdditions(root string, g *graph, tests []test) error {
	problems, err := newRewriter(g, nil, tests).compile(root)
	if err != nil {
		return err
	}
	for i, t := range tests {
		for _, p := range problems {
			if len(t.unexported) == 0 && t.needs[p.at] {
				name := missingMethod.FindStringSubmatch(p.msg)
				if name == nil {
					return fmt.Errorf("%s does not compile outside of its package: %s", t.name, p.msg)
				}
				tests[i].unexported = []string{"." + name[1]}
			}
		}
	}
	return nil
}

// rename finds the declarations that compile only with the facade's own type.
func (r *rewriter) rename(root string) error {
	problems, err := r.compile(root)
	if err != nil {
		return err
	}
	for _, p := range problems {
		if p.at == nil {
			return errors.New(p.msg)
		}
		r.renamed[p.at] = true
	}
	if problems, err = r.compile(root); err != nil {
		return err
	}
	var left []error
	for _, p := range problems {
		left = append(left, errors.New(p.msg))
	}
	return errors.Join(left...)
}
