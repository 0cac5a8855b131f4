package main

import (
	"fmt"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"glasswatch/compat"
)

// knows is the minor version of client-go that docs/use/facades.md is about.
const knows = "v0.37."

// report is what a module uses.
type report struct {
	dir     string
	fset    *token.FileSet
	tables  map[string][]compat.Row
	uses    []use
	version string   // of client-go, empty if the module does not have it
	skipped []string // go.mod files of other modules
}

func analyze(dir string, pkgs []*packages.Package, tables map[string][]compat.Row) (report, error) {
	r := report{dir: dir, fset: pkgs[0].Fset, tables: tables}
	graph, err := checker.Analyze([]*analysis.Analyzer{newAnalyzer(tables)}, pkgs, nil)
	if err != nil {
		return r, err
	}
	for _, action := range graph.Roots {
		if action.Err != nil {
			return r, fmt.Errorf("%s: %w", action.Package, action.Err)
		}
		r.uses = append(r.uses, action.Result.([]use)...)
	}
	r.uses = sorted(r.fset, r.uses)
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		if _, ok := facades[p.PkgPath]; ok && p.Module != nil {
			r.version = p.Module.Version
			if p.Module.Replace != nil {
				r.version = p.Module.Replace.Version
			}
		}
	})
	return r, nil
}

func (r report) differing() []use {
	var differing []use
	for _, u := range r.uses {
		if u.differs() {
			differing = append(differing, u)
		}
	}
	return differing
}

// print writes the list to stdout, and what concerns all of it to stderr.
func (r report) print(stdout, stderr io.Writer) {
	differing := r.differing()
	for _, u := range differing {
		at := r.fset.Position(u.pos)
		if short, err := filepath.Rel(r.dir, at.Filename); err == nil && filepath.IsLocal(short) {
			at.Filename = short
		}
		fmt.Fprintf(stdout, "%s: %s\n", at, u)
	}
	if others := r.referred(differing); len(others) > 0 {
		fmt.Fprintf(stdout, "\nThese rows refer to:\n%s", strings.Join(others, ""))
	}
	fmt.Fprintf(stderr, "%d of %d uses differ\n", len(differing), len(r.uses))
	for _, mod := range r.skipped {
		fmt.Fprintf(stderr, "not read: %s is of another module\n", mod)
	}
	if r.version != "" && !strings.HasPrefix(r.version, knows) {
		fmt.Fprintf(stderr, "the module has client-go %s, but what is known here is %sx\n", r.version, knows)
	}
}

// reference is a name in the words of a row.
var reference = regexp.MustCompile("`(\\w+(?:\\.\\w+)?)`")

// referred returns the rows that differ of all names in the words of uses, without those that are among them.
func (r report) referred(uses []use) []string {
	lines := map[string]string{}
	shown := map[string]bool{}
	for _, u := range uses {
		shown[u.name()] = true
	}
	for waiting := slices.Clone(uses); len(waiting) > 0; waiting = waiting[1:] {
		u := waiting[0]
		for _, m := range reference.FindAllStringSubmatch(u.row.Words, -1) {
			for _, row := range r.tables[u.path] {
				other := use{path: u.path, row: row}
				if row.Name == m[1] && other.differs() && !shown[other.name()] {
					shown[other.name()] = true
					lines[other.name()] = other.String() + "\n"
					waiting = append(waiting, other)
				}
			}
		}
	}
	var sortedLines []string
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		sortedLines = append(sortedLines, lines[name])
	}
	return sortedLines
}
