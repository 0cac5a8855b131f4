package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"glasswatch/compat"
)

// facades are client-go's packages, and what takes their place.
var facades = map[string]string{
	"k8s.io/client-go/tools/cache":    "glasswatch/compat/cache",
	"k8s.io/client-go/util/workqueue": "glasswatch/compat/workqueue",
}

// registering are packages whose import sets client-go's providers of metrics. The words are those of their rows.
var registering = map[string]string{
	"k8s.io/component-base/metrics/prometheus/workqueue":     metricsOfQueues,
	"k8s.io/component-base/metrics/prometheus/clientgo/fifo": metricsOfInformers,
	"k8s.io/component-base/metrics/prometheus/clientgo":      metricsOfQueues + "; " + metricsOfInformers,
}

const (
	metricsOfQueues    = "counts client-go's queues only; give a provider of your own to the facade's SetProvider"
	metricsOfInformers = "counts client-go's informers only; give a provider of your own to the facade's " +
		"SetInformerMetricsProvider"
)

// use is one place at which a package uses a name of a table, or imports one of registering.
type use struct {
	pos  token.Pos
	path string // the table's, or what is imported
	row  compat.Row
}

func (u use) differs() bool { return u.row.Class != "same" && u.row.Class != "added" }

// name is how programs write it.
func (u use) name() string {
	if u.row.Name == "" {
		return u.path
	}
	return path.Base(u.path) + "." + u.row.Name
}

func (u use) String() string { return fmt.Sprintf("%s: %s: %s", u.name(), u.row.Class, u.row.Words) }

const doc = "reports uses of client-go's tools/cache and util/workqueue that glasswatch's facades treat differently"

// newAnalyzer reports the uses that differ, and returns all as a []use. tables are by import path.
func newAnalyzer(tables map[string][]compat.Row) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       "swapcheck",
		Doc:        doc,
		ResultType: reflect.TypeFor[[]use](),
		Run: func(pass *analysis.Pass) (any, error) {
			finder := &finder{
				info:   pass.TypesInfo,
				tables: tables,
				rows:   map[*types.Package]map[types.Object]compat.Row{},
			}
			for _, file := range pass.Files {
				ast.Inspect(file, finder.visit)
			}
			for _, u := range finder.uses {
				if u.differs() {
					pass.Report(analysis.Diagnostic{Pos: u.pos, Category: u.row.Class, Message: u.String()})
				}
			}
			return finder.uses, nil
		},
	}
}

// finder finds the uses in one package.
type finder struct {
	info   *types.Info
	tables map[string][]compat.Row
	rows   map[*types.Package]map[types.Object]compat.Row // what rowsOf has returned
	uses   []use
}

func (f *finder) visit(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.Ident:
		f.add(node.Pos(), f.info.Uses[node])
	case *ast.CompositeLit:
		f.addPositional(node)
	case *ast.ImportSpec:
		imported, _ := strconv.Unquote(node.Path.Value)
		if words, found := registering[imported]; found {
			f.uses = append(f.uses, use{node.Pos(), imported, compat.Row{Class: "different", Words: words}})
		}
	}
	return true
}

// addPositional adds the fields of a struct whose values are listed without names.
func (f *finder) addPositional(lit *ast.CompositeLit) {
	of := f.info.TypeOf(lit)
	if pointer, ok := of.Underlying().(*types.Pointer); ok {
		of = pointer.Elem() // the & before an element of a slice may be left out
	}
	structure, ok := of.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, value := range lit.Elts {
		if _, named := value.(*ast.KeyValueExpr); !named && i < structure.NumFields() {
			f.add(value.Pos(), structure.Field(i))
		}
	}
}

// add adds a use of obj if it, or the generic thing that it is an instance of, has a row, or is a name of a package that has a table.
func (f *finder) add(pos token.Pos, obj types.Object) {
	switch instance := obj.(type) {
	case nil:
		return
	case *types.Func:
		obj = instance.Origin()
	case *types.Var:
		obj = instance.Origin()
	}
	pkg := obj.Pkg()
	if pkg == nil || f.tables[pkg.Path()] == nil {
		return
	}
	if f.rows[pkg] == nil {
		f.rows[pkg] = rowsOf(pkg, f.tables[pkg.Path()])
	}
	row, told := f.rows[pkg][obj]
	if !told && obj.Parent() == pkg.Scope() && obj.Exported() {
		row, told = compat.Row{Name: obj.Name(), Class: "same"}, true
	}
	if told {
		f.uses = append(f.uses, use{pos, pkg.Path(), row})
	}
}

// rowsOf finds what the table's names mean in the package. What the package does not have is left out: client-go does
// not have what a facade adds, and of an alias the members are in the other package.
func rowsOf(pkg *types.Package, table []compat.Row) map[types.Object]compat.Row {
	rows := map[types.Object]compat.Row{}
	for _, row := range table {
		name, member, isMember := strings.Cut(row.Name, ".")
		obj := pkg.Scope().Lookup(name)
		if obj != nil && isMember {
			obj, _, _ = types.LookupFieldOrMethod(obj.Type(), true, pkg, member)
		}
		if obj != nil {
			rows[obj] = row
		}
	}
	return rows
}

// sorted orders uses by file, line and column, and drops what is there twice: a package and its tests are read both
// apart and together.
func sorted(fset *token.FileSet, uses []use) []use {
	order := func(a, b use) int {
		return comparePositions(fset.Position(a.pos), fset.Position(b.pos))
	}
	slices.SortStableFunc(uses, order)
	return slices.CompactFunc(uses, func(a, b use) bool {
		return order(a, b) == 0 && a.path == b.path && a.row == b.row
	})
}

func comparePositions(a, b token.Position) int {
	if c := strings.Compare(a.Filename, b.Filename); c != 0 {
		return c
	}
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Column - b.Column
}
