// Package compat reads README.md, which says what each name of client-go's two packages is in the facades. The tests of
// the facades hold the page against both; tests/check/swapcheck looks up in it what a program uses.
package compat

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed README.md
var readme string

// Row is a row of README.md's tables.
type Row struct {
	// Name is an exported name, such as NewStore; or a field or method, such as TypedInterface.Done.
	Name string
	// Class is same, different, left out or added.
	Class string
	// Words say how, or why not. They may be empty if the class is same.
	Words string
}

var rowLine = regexp.MustCompile("(?m)^\\| `(\\w+(?:\\.\\w+)?)` \\| ([a-z ]+) \\| (.*?) ?\\|$")

// Rows returns the table of client-go's package importPath, in its order.
func Rows(importPath string) ([]Row, error) {
	title := strings.TrimPrefix(importPath, "k8s.io/client-go/")
	_, section, found := strings.Cut(readme, "\n## "+title+"\n")
	if !found {
		return nil, fmt.Errorf("compat/README.md has no section %s", title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []Row
	for _, m := range rowLine.FindAllStringSubmatch(section, -1) {
		rows = append(rows, Row{Name: m[1], Class: m[2], Words: m[3]})
	}
	return rows, nil
}
