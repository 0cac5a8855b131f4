package mutants

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// variable tells a binary with copies which of its bugs is on, by its number. None is 0.
const variable = "GLASSWATCH_MUTANT"

var errNoCopy = errors.New("it cannot be put into a copy of a function")

// insertion is text that goes in front of a byte of a file.
type insertion struct {
	at   int
	text string
}

// withCopies returns the files that have bugs, by their names, each with a copy of the function for each bug in it. Numbers are the
// bugs' places in all, from 1. The function begins by asking whether a copy runs in its place:
//
//	func (q *Queue) Add(k string) bool { if mutantOn == 3 { return q.Add_mutant3(k) }; …
//
// So a folder's bugs are compiled once, not once each. alone are the bugs that are in no function, or in one that cannot be called so.
func withCopies(all []Mutant) (texts map[string]string, alone []Mutant, err error) {
	insertions := map[string][]insertion{}
	for i, m := range all {
		call, copied, err := m.inACopy(i + 1)
		if errors.Is(err, errNoCopy) {
			alone = append(alone, m)
			continue
		} else if err != nil {
			return nil, nil, err
		}
		insertions[m.File] = append(insertions[m.File], call, copied)
	}
	texts = map[string]string{}
	for file, changes := range insertions {
		text, err := read(file)
		if err != nil {
			return nil, nil, err
		}
		slices.SortStableFunc(changes, func(a, b insertion) int { return cmp.Compare(b.at, a.at) }) // from the end
		for _, c := range changes {
			text = text[:c.at] + c.text + text[c.at:]
		}
		texts[file] = text
		clause, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly)
		if err != nil {
			return nil, nil, err
		}
		texts[path.Dir(file)+"/mutant_on.go"] = fmt.Sprintf("package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\n"+
			"var mutantOn, _ = strconv.Atoi(os.Getenv(%q))\n", clause.Name, variable)
	}
	return texts, alone, nil
}

// inACopy returns what a file gets for a bug: the call of the copy, at the beginning of the function, and the copy, behind it.
func (m Mutant) inACopy(number int) (call, copied insertion, err error) {
	sound, err := read(m.File)
	if err != nil {
		return call, copied, err
	}
	mutated, err := m.Apply()
	if err != nil {
		return call, copied, err
	}
	at := 0 // of the first byte that differs
	for at < min(len(sound), len(mutated)) && sound[at] == mutated[at] {
		at++
	}
	before, begin := functionAt(sound, at)
	after, _ := functionAt(mutated, at)
	if before == nil || after == nil {
		return call, copied, errNoCopy
	}
	callee, ok := calling(after, number)
	if !ok {
		return call, copied, errNoCopy
	}
	inner := fmt.Sprintf("%s; return", callee)
	if after.Type.Results != nil {
		inner = "return " + callee
	}
	nameEnd := int(after.Name.End() - after.Pos())
	code := mutated[begin : begin+int(after.End()-after.Pos())]
	call = insertion{begin + int(before.Body.Lbrace+1-before.Pos()), fmt.Sprintf(" if mutantOn == %d { %s }; ", number, inner)}
	copied = insertion{begin + int(before.End()-before.Pos()), fmt.Sprintf("\n\n%s_mutant%d%s", code[:nameEnd], number, code[nameEnd:])}
	return call, copied, nil
}

// functionAt finds the function around a byte of a file, and the byte it begins at. It is nil if there is none.
func functionAt(text string, at int) (f *ast.FuncDecl, begin int) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, 0
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		if begin = fset.Position(f.Body.Lbrace).Offset; begin < at && at < fset.Position(f.End()).Offset {
			return f, fset.Position(f.Pos()).Offset
		}
	}
	return nil, 0
}

// calling returns the call of a function's copy with the function's own arguments. It must have names for them.
func calling(f *ast.FuncDecl, number int) (code string, ok bool) {
	code = fmt.Sprintf("%s_mutant%d", f.Name.Name, number)
	if f.Recv != nil {
		names := namesOf(f.Recv)
		if len(names) != 1 {
			return "", false
		}
		code = names[0] + "." + code
	}
	if f.Type.TypeParams != nil {
		code += "[" + strings.Join(namesOf(f.Type.TypeParams), ", ") + "]"
	}
	args := namesOf(f.Type.Params)
	if len(args) != f.Type.Params.NumFields() {
		return "", false
	}
	code += "(" + strings.Join(args, ", ")
	if n := len(f.Type.Params.List); n > 0 {
		if _, variadic := f.Type.Params.List[n-1].Type.(*ast.Ellipsis); variadic {
			code += "..."
		}
	}
	return code + ")", true
}

// namesOf returns the names that can be used.
func namesOf(fields *ast.FieldList) (names []string) {
	for _, field := range fields.List {
		for _, name := range field.Names {
			if name.Name != "_" {
				names = append(names, name.Name)
			}
		}
	}
	return names
}
