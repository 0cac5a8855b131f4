package imports

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// notCounted are the folders below a core that do not count among the lines of all layers.
var notCounted = []string{"ingress", "shards", "memotest"}

// Core is one of the root packages with the lines that it may have.
type Core struct {
	Package string
	Lines   int
}

// Budgets are what the page says about the amount of code.
type Budgets struct {
	Cores []Core
	// Of all layers, of the cores, of a line (a tab is four columns), of a function.
	AllLines, Tokens, Columns, Function int
	// Comments is the least share of a core's lines that are comment or blank, in percent.
	Comments int
}

// ReadBudgets reads the two tables of budgets. A row that is missing is an error.
func ReadBudgets(fsys fs.FS) (b Budgets, err error) {
	cores, err := tableUnder(fsys, "core")
	if err != nil {
		return b, err
	}
	for _, row := range cores {
		lines, err := number(row)
		if err != nil {
			return b, err
		}
		b.Cores = append(b.Cores, Core{strings.Trim(row[0], "`"), lines})
	}
	limits, err := tableUnder(fsys, "limit")
	if err != nil {
		return b, err
	}
	places := map[string]*int{
		"lines of all layers": &b.AllLines, "tokens of the cores": &b.Tokens, "columns": &b.Columns,
		"lines of a function": &b.Function, "percent comment or blank": &b.Comments,
	}
	for _, row := range limits {
		place, known := places[row[0]]
		if !known {
			return b, fmt.Errorf("%s: expected a limit that is checked, came %q", page, row[0])
		}
		if *place, err = number(row); err != nil {
			return b, err
		}
	}
	for name, place := range places {
		if *place == 0 {
			return b, fmt.Errorf("%s: expected a row %q among the limits, found none", page, name)
		}
	}
	return b, nil
}

// number reads the second cell of a row.
func number(row cells) (int, error) {
	if len(row) < 2 {
		return 0, fmt.Errorf("%s: expected two columns, came %q", page, row)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(row[1], ",", ""))
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s: expected a number in the row %s, came %q", page, row[0], row[1])
	}
	return n, nil
}

// Size is how much code there is in some files.
type Size struct {
	Lines, Spare, Tokens int
	Problems             []Problem // lines that are too wide and functions that are too long
}

// CheckBudgets counts the layers' code, tests apart.
func CheckBudgets(fsys fs.FS, b Budgets) (problems []Problem, err error) {
	lines, tokens := 0, 0
	for _, core := range b.Cores {
		var own, all Size
		err := eachFile(fsys, core.Package, func(file string, text []byte) error {
			if slices.ContainsFunc(strings.Split(path.Dir(file), "/"), isNotCounted) {
				return nil
			}
			if path.Dir(file) == core.Package {
				if err := own.add(file, text, b); err != nil {
					return err
				}
			}
			return all.add(file, text, b)
		})
		if err != nil {
			return nil, err
		}
		lines += all.Lines
		tokens += own.Tokens
		problems = append(problems, all.Problems...)
		if own.Lines > core.Lines {
			problems = append(problems, atMost(core.Package, core.Lines, own.Lines, "lines"))
		}
		if share := 100 * own.Spare / max(own.Lines, 1); share < b.Comments {
			problems = append(problems, Problem{core.Package,
				fmt.Sprintf("at least %d %% comment or blank", b.Comments), fmt.Sprintf("%d %%", share)})
		}
	}
	if lines > b.AllLines {
		problems = append(problems, atMost("all layers", b.AllLines, lines, "lines"))
	}
	if tokens > b.Tokens {
		problems = append(problems, atMost("the cores", b.Tokens, tokens, "Go tokens"))
	}
	return problems, nil
}

// Lines counts the lines of a core with what is below it.
func Lines(fsys fs.FS, core string) (int, error) {
	var all Size
	err := eachFile(fsys, core, func(file string, text []byte) error {
		if slices.ContainsFunc(strings.Split(path.Dir(file), "/"), isNotCounted) {
			return nil
		}
		return all.add(file, text, Budgets{})
	})
	return all.Lines, err
}

func isNotCounted(folder string) bool { return slices.Contains(notCounted, folder) }

func atMost(where string, want, got int, what string) Problem {
	return Problem{where, fmt.Sprintf("at most %d %s", want, what), strconv.Itoa(got)}
}

// add counts one file.
func (s *Size) add(file string, text []byte, b Budgets) error {
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		s.Lines++
		if rest := strings.TrimSpace(line); rest == "" || strings.HasPrefix(rest, "//") {
			s.Spare++
		}
		if n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); n > b.Columns {
			s.Problems = append(s.Problems, atMost(fmt.Sprintf("%s:%d", file, i+1), b.Columns, n, "columns"))
		}
	}
	s.Tokens += tokensOf(text)
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range parsed.Decls {
		fn, isFunc := decl.(*ast.FuncDecl)
		if !isFunc {
			continue
		}
		first, last := files.Position(fn.Pos()).Line, files.Position(fn.End()).Line
		if n := last - first + 1; n > b.Function {
			where := fmt.Sprintf("%s:%d: %s", file, first, fn.Name.Name)
			s.Problems = append(s.Problems, atMost(where, b.Function, n, "lines"))
		}
	}
	return nil
}

// tokensOf counts Go tokens without comments and without the semicolons that the scanner adds.
func tokensOf(text []byte) (n int) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	for {
		_, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok != token.SEMICOLON || literal != "\n" {
			n++
		}
	}
}
