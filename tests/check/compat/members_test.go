package compat

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireMembers fails unless each row of a field or method is one of client-go's. Who uses the member is told by its
// row. The row of a type that differs as a whole, too, leaves its members to theirs.
func (table Table) requireMembers(t *testing.T) {
	t.Helper()
	for name, row := range table.members {
		require.True(t, table.theirMembers[name], "client-go has no field or method %s", name)
		require.Equal(t, "different", row.here, name)
		require.NotEmpty(t, row.how, "%s differs, but how?", name)
		owner, member, _ := strings.Cut(name, ".")
		require.Contains(t, table.rows, owner)
		require.NotContains(t, table.rows[owner].how, "`"+member+"`", "%s has a row, so its type's is too wide", name)
	}
}

// addMembers adds, as Type.Member, the fields of decl's structs, the methods of its interfaces, and decl if it is a
// method. What is embedded is not added: it has a name of its own.
func addMembers(members map[string]bool, decl ast.Decl) {
	add := func(owner string, fields *ast.FieldList) {
		for _, field := range fields.List {
			for _, name := range field.Names {
				members[owner+"."+name.Name] = true
			}
		}
	}
	if method, ok := decl.(*ast.FuncDecl); ok && method.Recv != nil {
		members[receiver(method.Recv.List[0].Type)+"."+method.Name.Name] = true
	}
	general, ok := decl.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range general.Specs {
		if spec, ok := spec.(*ast.TypeSpec); ok {
			switch is := spec.Type.(type) {
			case *ast.StructType:
				add(spec.Name.Name, is.Fields)
			case *ast.InterfaceType:
				add(spec.Name.Name, is.Methods)
			}
		}
	}
}

// receiver is the name of a method's type, without pointer and type parameters.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}
