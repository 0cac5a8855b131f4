package imports

import (
	"fmt"
	"io/fs"
	"strings"
)

// page is the document that is held against the code.
const page = "ARCHITECTURE.md"

// cells are one row of a Markdown table.
type cells []string

// tableUnder returns the rows of the first table whose first column has that title, without its head.
func tableUnder(fsys fs.FS, title string) ([]cells, error) {
	text, err := fs.ReadFile(fsys, page)
	if err != nil {
		return nil, err
	}
	var rows []cells
	inside := false
	for line := range strings.Lines(string(text)) {
		row := split(line)
		switch {
		case !inside:
			inside = row != nil && row[0] == title
		case row == nil:
			return rows, nil
		case strings.Trim(row[0], "-:") != "":
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: expected a table whose first column is called %q, found none", page, title)
	}
	return rows, nil
}

// split returns the cells of a line, nil if it is not a row of a table.
func split(line string) cells {
	line, isRow := strings.CutPrefix(strings.TrimSpace(line), "|")
	if !isRow {
		return nil
	}
	var row cells
	for _, cell := range strings.Split(strings.TrimSuffix(line, "|"), "|") {
		row = append(row, strings.TrimSpace(cell))
	}
	return row
}

// quoted returns what stands in backquotes in a cell.
func quoted(cell string) []string {
	var names []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			names = append(names, part)
		}
	}
	return names
}
