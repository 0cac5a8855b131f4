// Package compat says which names of client-go's two packages differ in the facades: differences.txt. All others are the same. The tests
// of the facades hold that against both, and make docs/use/facades.md of it; tests/check/swapcheck looks up in it what a program uses.
package compat

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed differences.txt
var differences string

// Row is what is to be said of a name.
type Row struct {
	// Name is an exported name, such as NewStore; or a field or method, such as TypedInterface.Done.
	Name string
	// Class is same, different or added: a name that client-go does not have.
	Class string
	// Words say how. They may be empty if the class is same.
	Words string
}

var rowLine = regexp.MustCompile(`(?m)^(\w+(?:\.\w+)?): ([a-z]+): (.+)$`)

// Rows returns what is to be said of client-go's package importPath.
func Rows(importPath string) ([]Row, error) {
	title := strings.TrimPrefix(importPath, "k8s.io/client-go/")
	_, section, found := strings.Cut("\n"+differences, "\n# "+title+"\n")
	if !found {
		return nil, fmt.Errorf("compat/differences.txt has no section %s", title)
	}
	section, _, _ = strings.Cut(section, "\n# ")
	var rows []Row
	for _, m := range rowLine.FindAllStringSubmatch(section, -1) {
		rows = append(rows, Row{Name: m[1], Class: m[2], Words: m[3]})
	}
	return rows, nil
}
