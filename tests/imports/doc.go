// Package imports holds ARCHITECTURE.md against the code: who imports whom, and how much code there is.
//
// Nothing is written here twice. The table of imports and the budgets are read from the page itself:
//
//	document.go   the tables of a Markdown page
//	table.go      each package's imports against its row
//	budget.go     lines, tokens, columns, lengths of functions, share of comments against the budgets
//
// The checks take a file system and return what is wrong. So imports_test.go runs them on the repository, and
// checks_test.go on small broken ones in memory: each check is seen to fail.
package imports

import "fmt"

// Problem is one place where code and page differ.
type Problem struct {
	Where string // a file with its line, or a package
	Want  string
	Got   string
}

func (p Problem) String() string {
	return fmt.Sprintf("%s: expected %s, came %s", p.Where, p.Want, p.Got)
}
