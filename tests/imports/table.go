package imports

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	module = "glasswatch"
	// below stands behind a row's name that covers all packages below it.
	below = "/…"
)

// machinery is what the layers replace. Facades and tests may import it.
var machinery = []string{"k8s.io/client-go/tools/cache", "k8s.io/client-go/util/workqueue"}

// machineryAllowed are the folders below which machinery may be imported.
var machineryAllowed = []string{"compat", "internal/lens/beside", "tests"}

// Row says what a package may import of ours.
type Row struct {
	Package  string // without the dots
	What     string // one line
	Below    bool   // the row covers what is below Package, too
	Anything bool   // the imports are free
	Imports  []string
	// Kubernetes: the package may depend on it.
	Kubernetes bool
}

// covers reports whether the row is about that package.
func (r Row) covers(pkg string) bool {
	return r.Package == pkg || r.Below && strings.HasPrefix(pkg, r.Package+"/")
}

// Table is the table of imports.
type Table []Row

// ReadTable reads the table from the page.
func ReadTable(fsys fs.FS) (Table, error) {
	rows, err := tableUnder(fsys, "package")
	if err != nil {
		return nil, err
	}
	var table Table
	for _, row := range rows {
		if len(row) != 4 {
			return nil, fmt.Errorf("%s: expected four columns, came %d: %s", page, len(row), row)
		}
		imports, anything, err := readImports(row[3], table)
		if err != nil {
			return nil, err
		}
		for _, name := range quoted(row[0]) {
			name, isBelow := strings.CutSuffix(name, below)
			table = append(table, Row{name, row[1], isBelow, anything, imports, row[2] != "no"})
		}
	}
	return table, nil
}

// readImports reads the last column. "the layers" are the rows above that name one package.
func readImports(cell string, above Table) (imports []string, anything bool, err error) {
	switch {
	case cell == "anything":
		return nil, true, nil
	case cell == "none" || cell == "none of the layers":
		return nil, false, nil
	case cell == "the layers":
		for _, row := range above {
			if !row.Below {
				imports = append(imports, row.Package)
			}
		}
		return imports, false, nil
	case len(quoted(cell)) > 0:
		return quoted(cell), false, nil
	}
	return nil, false, fmt.Errorf("%s: expected packages in backquotes, none, the layers or anything, came %q", page, cell)
}

// of returns the row of a package. The longest name wins.
func (t Table) of(pkg string) (best Row, found bool) {
	for _, row := range t {
		if row.covers(pkg) && (!found || len(row.Package) > len(best.Package)) {
			best, found = row, true
		}
	}
	return best, found
}

// Leaves are the core packages that must not know of Kubernetes.
func (t Table) Leaves() []string {
	var leaves []string
	for _, row := range t {
		if !row.Kubernetes && !row.Anything {
			leaves = append(leaves, row.Package)
		}
	}
	return leaves
}

// CheckImports holds the direct imports of all files, tests apart, against the table.
func CheckImports(fsys fs.FS, table Table) (problems []Problem, err error) {
	seen := map[string]bool{}
	err = eachImport(fsys, func(file, imported string) {
		pkg := path.Dir(file)
		row, found := table.of(pkg)
		if !found {
			if !seen[pkg] {
				problems = append(problems, Problem{page, "a row for " + pkg, "none"})
			}
			seen[pkg] = true
			return
		}
		seen[row.Package] = true
		ours, isOurs := strings.CutPrefix(imported, module+"/")
		if row.Anything || !isOurs || row.covers(ours) || slices.Contains(row.Imports, ours) {
			return
		}
		problems = append(problems, Problem{file, row.allowed(), ours})
	})
	for _, row := range table {
		if !seen[row.Package] {
			problems = append(problems, Problem{page, "a package for the row " + row.Package, "none"})
		}
	}
	return problems, err
}

func (r Row) allowed() string {
	if len(r.Imports) == 0 {
		return "no import of ours"
	}
	return "imports of " + strings.Join(r.Imports, ", ") + " only"
}

// CheckMachinery finds what imports client-go's machinery and may not.
func CheckMachinery(fsys fs.FS) (problems []Problem, err error) {
	err = eachImport(fsys, func(file, imported string) {
		allowed := slices.ContainsFunc(machineryAllowed, func(dir string) bool { return strings.HasPrefix(file, dir+"/") })
		if slices.Contains(machinery, imported) && !allowed {
			want := "no machinery of client-go but in " + strings.Join(machineryAllowed, ", ")
			problems = append(problems, Problem{file, want, imported})
		}
	})
	return problems, err
}

// CheckLeaf finds what a leaf depends on and may not. deps are all packages that it depends on, itself included.
func CheckLeaf(leaf string, deps []string) (problems []Problem) {
	if !slices.Contains(deps, module+"/"+leaf) {
		return []Problem{{leaf, "a package that is among its own dependencies", "none"}}
	}
	for _, dep := range deps {
		if strings.HasPrefix(dep, "k8s.io/") || strings.HasPrefix(dep, "sigs.k8s.io/") {
			problems = append(problems, Problem{leaf, "nothing of Kubernetes among all dependencies", dep})
		}
	}
	return problems
}

// eachImport visits every import of every Go file, tests apart. A file without imports is visited with "".
func eachImport(fsys fs.FS, visit func(file, imported string)) error {
	return eachFile(fsys, ".", func(file string, text []byte) error {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		visit(file, "")
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			visit(file, imported)
		}
		return nil
	})
}

// eachFile visits the Go files below a folder, tests apart.
func eachFile(fsys fs.FS, dir string, visit func(file string, text []byte) error) error {
	return fs.WalkDir(fsys, dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			hidden := strings.HasPrefix(entry.Name(), ".") && entry.Name() != "."
			if hidden || entry.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return err
		}
		return visit(file, text)
	})
}
