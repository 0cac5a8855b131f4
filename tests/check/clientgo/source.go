package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// source is a package of client-go with its tests, as it lies in the module cache.
type source struct {
	importPath string
	fset       *token.FileSet
	pkg        *types.Package
	uses       map[*ast.Ident]types.Object
	// tests are the test files of the package itself; outside are those of the package with _test behind its name. The
	// latter cannot use an unexported name.
	tests, outside []*testFile
}

type testFile struct {
	path string
	text []byte
	ast  *ast.File
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// load parses a package with its tests, and finds out what each identifier of the tests stands for.
func load(root, importPath string) (*source, error) {
	found, err := goList(root, importPath)
	if err != nil {
		return nil, err
	}
	at := found[0]
	src := &source{importPath: importPath, fset: token.NewFileSet()}
	own, err := src.parse(at.Dir, at.GoFiles)
	if err != nil {
		return nil, err
	}
	if src.tests, err = src.parse(at.Dir, at.TestGoFiles); err != nil {
		return nil, err
	}
	if src.outside, err = src.parse(at.Dir, at.XTestGoFiles); err != nil {
		return nil, err
	}
	return src, src.check(root, own)
}

func (src *source) parse(dir string, names []string) ([]*testFile, error) {
	var files []*testFile
	for _, name := range names {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(src.fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, &testFile{path: path, text: text, ast: file})
	}
	return files, nil
}

// check goes on after an error: where a test imports a package that imports the tested one, two versions of it meet,
// one from source and one from export data. That changes no name.
func (src *source) check(root string, own []*testFile) error {
	imports := map[string]bool{src.importPath: true}
	for _, file := range slices.Concat(own, src.tests, src.outside) {
		for _, spec := range file.ast.Imports {
			imports[pathOf(spec)] = true
		}
	}
	imported, err := importerFor(root, src.fset, imports)
	if err != nil {
		return err
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imported, Error: func(error) {}}
	src.pkg, _ = config.Check(src.importPath, src.fset, asts(own, src.tests), info)
	_, _ = config.Check(src.importPath+"_test", src.fset, asts(src.outside), info)
	src.uses = info.Uses
	return nil
}

func asts(files ...[]*testFile) (all []*ast.File) {
	for _, file := range slices.Concat(files...) {
		all = append(all, file.ast)
	}
	return all
}

// importerFor builds packages and what they depend on, and imports what the compiler writes of them.
func importerFor(root string, fset *token.FileSet, imports map[string]bool) (types.Importer, error) {
	args := []string{"-export", "-deps"}
	for path := range imports {
		args = append(args, path)
	}
	found, err := goList(root, args...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range found {
		exports[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	}), nil
}

func goList(root string, args ...string) ([]listed, error) {
	const fields = "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles"
	cmd := exec.Command("go", append([]string{"list", fields}, args...)...)
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	var found []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var one listed
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
}

func pathOf(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
	return path
}
