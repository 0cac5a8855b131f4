package oneevent

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "glasswatch/"
	root   = "../.."
	probe  = "./tests/oneevent/probe"
)

// layers are the packages whose functions count: all that an event can pass.
var layers = []string{"listwatch/...", "reflector", "deltafifo", "indexer", "sharedinformer/..."}

// function is one function of ours.
type function struct {
	name     string // package and name, such as indexer.(*Store).Apply
	file     string // from the root
	from, to int    // lines
	does     string // the first sentence of its comment
}

// ran returns the functions that ran while one event passed, in no order.
func ran(t *testing.T) []function {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "probe")
	packages := module + strings.Join(layers, ","+module)
	command(t, nil, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+probe+","+packages, "-o", binary, probe)
	counters := t.TempDir()
	// At its end the program would write counters once more, to the folder in the environment.
	command(t, []string{"GOCOVERDIR=" + t.TempDir()}, binary, counters)
	profile := filepath.Join(t.TempDir(), "profile")
	command(t, nil, "go", "tool", "covdata", "textfmt", "-i="+counters, "-o="+profile)
	lines, err := os.ReadFile(profile)
	require.NoError(t, err)
	return functionsIn(t, lines)
}

// command runs a command in the project's root.
func command(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s:\n%s", cmd, out)
}

// functionsIn returns the functions of ours of which a block ran, from a profile whose lines are
// file:line.column,line.column statements count.
func functionsIn(t *testing.T, profile []byte) []function {
	t.Helper()
	byFile := map[string][]function{}
	seen := map[string]bool{}
	var found []function
	for lines := bufio.NewScanner(bytes.NewReader(profile)); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		file, ours := strings.CutPrefix(name, module)
		if !ours || strings.HasSuffix(rest, " 0") || strings.HasPrefix("./"+file, probe) {
			continue
		}
		if byFile[file] == nil {
			byFile[file] = parse(t, file)
		}
		var line int
		_, err := fmt.Sscanf(rest, "%d.", &line)
		require.NoError(t, err, "%s", lines.Text())
		for _, f := range byFile[file] {
			if f.from <= line && line <= f.to && !seen[f.name] {
				seen[f.name] = true
				found = append(found, f)
			}
		}
	}
	return found
}

// parse returns the functions of a file. A function literal belongs to the function that it stands in.
func parse(t *testing.T, file string) []function {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, filepath.Join(root, file), nil, parser.ParseComments)
	require.NoError(t, err)
	var found []function
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			found = append(found, function{
				name: parsed.Name.Name + "." + nameOf(f), file: file,
				from: fset.Position(f.Pos()).Line, to: fset.Position(f.End()).Line,
				does: new(doc.Package).Synopsis(f.Doc.Text()),
			})
		}
	}
	return found
}

// nameOf returns a function's name with its receiver: Apply, (*Store).Apply.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver, star := f.Recv.List[0].Type, ""
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver, star = pointer.X, "*"
	}
	switch generic := receiver.(type) {
	case *ast.IndexExpr:
		receiver = generic.X
	case *ast.IndexListExpr:
		receiver = generic.X
	}
	return fmt.Sprintf("(%s%s).%s", star, receiver.(*ast.Ident).Name, f.Name.Name)
}
