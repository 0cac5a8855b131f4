package compat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireOneClass fails unless a name that only stands for another one has its class. Such a name is a function that
// does nothing but call the other, or an alias. An alias of client-go's own type is the same; a type of this module
// differs: client-go's values are none of it.
func (table Table) requireOneClass(t *testing.T) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(table.folder, "*.go"))
	require.NoError(t, err)
	found := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for of, other := range standIns(file) {
			row, listed := table.rows[of]
			if !listed || row.here == "added" {
				continue
			}
			found++
			want := table.rows[other].here
			switch other {
			case clientGos:
				continue // its fields may differ all the same, as SharedIndexInformerOptions do
			case ownType:
				want = "different"
			}
			require.Equal(t, want, row.here, "%s is %s", of, other)
		}
	}
	require.NotZero(t, found)
}

// What a type stands for if it is no name of its package.
const (
	clientGos = "client-go's"
	ownType   = "a type of this module"
)

// standIns maps the file's types, and its functions that only call another one, to what they stand for.
func standIns(file *ast.File) map[string]string {
	stand := map[string]string{}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if called := onlyCalls(decl); called != "" {
				stand[decl.Name.Name] = called
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					stand[spec.Name.Name] = aliased(file, spec)
				}
			}
		}
	}
	return stand
}

// onlyCalls returns the function of the same package whose result decl returns, and empty if it does more.
func onlyCalls(decl *ast.FuncDecl) string {
	if decl.Recv != nil || decl.Body == nil || len(decl.Body.List) != 1 {
		return ""
	}
	returned, ok := decl.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(returned.Results) != 1 {
		return ""
	}
	call, ok := returned.Results[0].(*ast.CallExpr)
	if !ok {
		return ""
	}
	if name, ok := generic(call.Fun).(*ast.Ident); ok && name.IsExported() {
		return name.Name
	}
	return ""
}

func aliased(file *ast.File, spec *ast.TypeSpec) string {
	if spec.Assign == token.NoPos {
		return ownType
	}
	switch of := generic(spec.Type).(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		for _, imported := range file.Imports {
			path := strings.Trim(imported.Path.Value, `"`)
			if strings.HasPrefix(path, "k8s.io/client-go/") && imported.Name.String() == of.X.(*ast.Ident).Name {
				return clientGos
			}
		}
	}
	return ownType
}

// generic is the thing that expr is an instance of.
func generic(expr ast.Expr) ast.Expr {
	switch expr := expr.(type) {
	case *ast.IndexExpr:
		return expr.X
	case *ast.IndexListExpr:
		return expr.X
	}
	return expr
}
