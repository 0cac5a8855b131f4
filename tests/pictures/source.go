package pictures

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
)

// named is a constant, or an entry of a table in a comment, with its explanation.
type named struct{ name, text string }

// parse reads one file of the repository.
func parse(fsys fs.FS, file string) (*ast.File, error) {
	source, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	return parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments)
}

// constants returns the constants of the group whose first one has that type, with their comments on one line.
func constants(fsys fs.FS, file, typ string) (found []named, err error) {
	parsed, err := parse(fsys, file)
	if err != nil {
		return nil, err
	}
	for _, decl := range parsed.Decls {
		group, isGroup := decl.(*ast.GenDecl)
		if !isGroup || group.Tok != token.CONST {
			continue
		}
		first := group.Specs[0].(*ast.ValueSpec)
		if name, isName := first.Type.(*ast.Ident); !isName || name.Name != typ {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			found = append(found, named{value.Names[0].Name, oneLine(value.Doc.Text())})
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s: expected constants of type %s, found none", file, typ)
	}
	return found, nil
}

// comment returns the indented lines of the comments in a file that match.
func comment(fsys fs.FS, file string, line *regexp.Regexp) (rows [][]string, err error) {
	parsed, err := parse(fsys, file)
	if err != nil {
		return nil, err
	}
	for _, group := range parsed.Comments {
		for text := range strings.Lines(group.Text()) {
			if row := line.FindStringSubmatch(text); row != nil {
				rows = append(rows, row[1:])
			}
		}
	}
	if rows == nil {
		return nil, fmt.Errorf("%s: expected a comment with lines such as %s, found none", file, line)
	}
	return rows, nil
}

// oneLine joins lines, and takes the brackets of links away.
func oneLine(text string) string {
	text = regexp.MustCompile(`\[(?:\w+\.)?(\w+)\]`).ReplaceAllString(text, "$1")
	return strings.Join(strings.Fields(text), " ")
}
