package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the module, seen from a folder of tests.
const root = "../../.."

// Mutant is one bug.
type Mutant struct {
	Name, Why string
	File      string // that the function is in
	function  string // as in Queue.Add; everywhere if it is everything
	// What stands in the function without and with the bug. Space and line breaks do not count.
	before, after string
}

// everything stands in the place of a function's name for code that is in none.
const everything = "-"

// Layer is the folder that the bug is in.
func (m Mutant) Layer() string { return path.Dir(m.File) }

// Apply returns the file with the bug. It must be called from the tests of a folder in tests, as the rest of this package.
func (m Mutant) Apply() (string, error) {
	text, err := read(m.File)
	if err != nil {
		return "", err
	}
	places := m.places(text)
	if len(places) != 1 {
		return "", fmt.Errorf("mutant %s: %s in %s has it %d times, not once:\n%s", m.Name, m.function, m.File, len(places), m.before)
	}
	return text[:places[0].begin] + m.after + text[places[0].end:], nil
}

// place is a piece of a text, in bytes.
type place struct{ begin, end int }

// places are where m.before stands in the function.
func (m Mutant) places(text string) (found []place) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	within := []place{{0, len(text)}}
	if m.function != everything {
		within = nil
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && nameOf(f) == m.function {
				within = append(within, place{files.Position(f.Pos()).Offset, files.Position(f.End()).Offset})
			}
		}
	}
	wanted := tokens(m.before)
	for _, w := range within {
		there := tokens(text[w.begin:w.end])
		for i := 0; len(wanted) > 0 && i+len(wanted) <= len(there); i++ {
			if slices.EqualFunc(there[i:i+len(wanted)], wanted, func(a, b lexeme) bool { return a.text == b.text }) {
				found = append(found, place{w.begin + there[i].begin, w.begin + there[i+len(wanted)-1].end})
			}
		}
	}
	return found
}

// nameOf is a function's name with its receiver's type.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// lexeme is a token of Go.
type lexeme struct {
	text string
	place
}

// tokens are those of a piece of Go, without comments and without the semicolons that line breaks stand for.
func tokens(text string) (all []lexeme) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, 0)
	for {
		pos, tok, literal := s.Scan()
		switch {
		case tok == token.EOF:
			return all
		case tok == token.SEMICOLON && literal == "\n":
		default:
			if literal == "" || tok == token.SEMICOLON {
				literal = tok.String()
			}
			begin := file.Offset(pos)
			all = append(all, lexeme{literal, place{begin, begin + len(literal)}})
		}
	}
}

// read returns a file of the module.
func read(file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	return string(text), err
}

// Read returns the mutants in the files that the pattern matches. One whose code is not there any more ends the test.
func Read(t *testing.T, pattern string) []Mutant {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, pattern)
	var all []Mutant
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, part := range strings.Split("\n"+string(text), "\n== ")[1:] {
			all = append(all, parse(t, name, part))
		}
	}
	return all
}

func parse(t *testing.T, from, text string) Mutant {
	t.Helper()
	head, rest, _ := strings.Cut(text, "\n")
	words := strings.Fields(head)
	require.Len(t, words, 3, "%s: %q is not a name, a folder and a function", from, head)
	m := Mutant{Name: words[0], function: words[2]}
	for line := range strings.Lines(rest) {
		switch line[0] {
		case '\n':
		case '-':
			m.before += line[1:]
		case '+':
			m.after += line[1:]
		default:
			m.Why += strings.TrimSpace(line) + " "
		}
	}
	m.after = strings.TrimSpace(m.after)
	require.NotEmpty(t, m.Why, "%s: %s does not say what is wrong with it", from, m.Name)
	m.find(t, words[1])
	return m
}

// find sets the file of the folder in which the function has the piece.
func (m *Mutant) find(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	require.NoError(t, err)
	times := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if n := len(m.places(string(text))); n > 0 {
			m.File = path.Join(folder, filepath.Base(file))
			times += n
		}
	}
	require.Equal(t, 1, times, "mutant %s: want its piece once in %s of %s, it is there %d times:\n%s", m.Name, m.function, folder, times, m.before)
}
