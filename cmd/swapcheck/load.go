package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
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

// requireModule fails unless dir is in a module or a workspace.
func requireModule(dir string) error {
	cmd := exec.Command("go", "env", "GOMOD", "GOWORK")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: go env: %w: %s", dir, err, &stderr)
	}
	for file := range strings.Lines(string(out)) {
		if file = strings.TrimSpace(file); file != "" && file != "off" && file != os.DevNull {
			return nil
		}
	}
	return fmt.Errorf("%s is in no Go module: there is no go.mod in it or above it", dir)
}
