package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// shown is how many errors of a module that does not compile are shown.
const shown = 10

// load type-checks the packages in and below dir, with their tests. What they import is read from the go command's
// cache, as compiled.
func load(dir string) ([]*packages.Package, error) {
	if err := requireModule(dir); err != nil {
		return nil, err
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode:  packages.LoadSyntax | packages.NeedModule,
		Dir:   dir,
		Env:   append(os.Environ(), "PWD="+dir),
		Tests: true,
	}, "./...")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	switch problems := problemsOf(pkgs); {
	case len(problems) > 0:
		return nil, fmt.Errorf("%s does not compile:\n\t%s", dir, strings.Join(problems, "\n\t"))
	case len(pkgs) == 0:
		return nil, fmt.Errorf("%s has no Go packages", dir)
	}
	return pkgs, nil
}

// problemsOf returns the first errors of all packages and what they import, each once. What the compiler says of
// a package as a whole counts only if the type checker said nothing line by line.
func problemsOf(pkgs []*packages.Package) []string {
	var lines, wholes []string
	seen := map[string]bool{}
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, problem := range p.Errors {
			text := problem.Error()
			switch {
			case seen[text]:
			case strings.HasPrefix(problem.Msg, "# "):
				wholes = append(wholes, text)
			default:
				lines = append(lines, text)
			}
			seen[text] = true
		}
	})
	problems := lines
	if len(problems) == 0 {
		problems = wholes
	}
	if more := len(problems) - shown; more > 0 {
		problems = append(problems[:shown], fmt.Sprintf("and %d more", more))
	}
	return problems
}

// requireModule fails unless dir is in a module.
func requireModule(dir string) error {
	cmd := exec.Command("go", "env", "GOMOD", "GOWORK")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: go env: %w: %s", dir, err, &stderr)
	}
	mod, work, _ := strings.Cut(string(out), "\n")
	isFile := func(path string) bool { return path != "" && path != "off" && path != os.DevNull }
	switch {
	case isFile(strings.TrimSpace(mod)):
		return nil
	case isFile(strings.TrimSpace(work)):
		return fmt.Errorf("%s is in a workspace, but in no module of it: name a folder of a module", dir)
	}
	return fmt.Errorf("%s is in no Go module: there is no go.mod in it or above it", dir)
}

// otherModules returns the go.mod files below dir whose packages are not among pkgs: ./... ends at another module.
func otherModules(dir string, pkgs []*packages.Package) (skipped []string, err error) {
	read := map[string]bool{filepath.Join(dir, "go.mod"): true}
	for _, p := range pkgs {
		if p.Module != nil {
			read[p.Module.GoMod] = true
		}
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		ignored := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor"
		switch {
		case entry.IsDir() && ignored && path != dir:
			return fs.SkipDir // the go command does not look there either
		case name == "go.mod" && !entry.IsDir() && !read[path]:
			below, err := filepath.Rel(dir, path)
			skipped = append(skipped, below)
			return err
		}
		return nil
	})
	return skipped, err
}
