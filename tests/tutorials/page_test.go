package tutorials

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const page = "../../docs/learn/tutorials.md"

const head = `<!-- Made from the programs in tests/tutorials: go test ./tests/tutorials -update -->

# The tutorials, replayed

Tutorials of client-go teach by small programs. Here are those programs, written anew, each up to three ways: on client-go; *compat*, the
same file with its imports changed to ` + "`glasswatch/compat/cache` and `compat/workqueue`" + `; and *native*, on the layers of this repository.
They run in virtual time against an API server in memory: an hour takes milliseconds. ` + "`go test ./tests/tutorials`" + ` runs all of them and
holds this page against what they print.

"Often said" quotes what many tutorials claim and the program refutes. What a [demo](demos.md) or a [pitfall](pitfalls.md) plays already is not
repeated here.

`

// labels begin the paragraphs of a program's comment that have a name.
var labels = []string{"Often said", "Ways", "Differs"}

// comment returns the paragraphs of the program's comment: those of the first documented exported function of its file in clientgo.
func (p program) comment(t *testing.T) (paragraphs []string) {
	t.Helper()
	path := filepath.Join("clientgo", p.file+".go")
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Name.IsExported() {
			text := strings.Replace(f.Doc.Text(), f.Name.Name, "`"+f.Name.Name+"`", 1)
			return strings.Split(strings.TrimSpace(text), "\n\n")
		}
	}
	require.Fail(t, "no exported function", path)
	return nil
}

func has(paragraphs []string, label string) bool {
	for _, paragraph := range paragraphs {
		if strings.HasPrefix(paragraph, label+": ") {
			return true
		}
	}
	return false
}

// section is what the page says of a program.
func (p program) section(t *testing.T, outputs []string) string {
	t.Helper()
	ways, paragraphs := p.ways(), p.comment(t)
	require.Equal(t, len(ways) < 3, has(paragraphs, "Ways"), "%s has %d ways: a comment says \"Ways: …\" if it lacks one", p.file, len(ways))
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", p.title)
	for _, paragraph := range paragraphs {
		for _, label := range labels {
			after, found := strings.CutPrefix(paragraph, label+": ")
			if found {
				paragraph = "**" + label + ":** " + after
			}
		}
		b.WriteString(paragraph + "\n\n")
	}
	var links []string
	for _, w := range ways {
		links = append(links, fmt.Sprintf("[%s](../../tests/tutorials/%s/%s.go)", w.name, w.folder, p.file))
	}
	b.WriteString(strings.Join(links, " · ") + "\n\n")
	fmt.Fprintf(&b, "```\n%s```\n\n", outputs[0])
	differ := false
	for i, output := range outputs {
		first := slices.Index(outputs, output)
		if first == 0 || first < i {
			continue // printed already
		}
		differ = true
		var names []string
		for j, other := range outputs {
			if other == output {
				names = append(names, ways[j].name)
			}
		}
		fmt.Fprintf(&b, "With %s there are these lines instead:\n\n```\n%s```\n\n", strings.Join(names, " and "), differences(outputs[0], output))
	}
	require.Equal(t, differ, has(paragraphs, "Differs"), "%s: a comment says \"Differs: …\" if the ways print different lines:\n%s",
		p.file, strings.Join(outputs, "\n"))
	return b.String()
}

// differences are the lines of an output without those at its beginning and at its end that another has there, too.
func differences(other, output string) string {
	theirs, ours := strings.SplitAfter(other, "\n"), strings.SplitAfter(output, "\n")
	for len(theirs) > 0 && len(ours) > 0 && theirs[0] == ours[0] {
		theirs, ours = theirs[1:], ours[1:]
	}
	for len(theirs) > 0 && len(ours) > 0 && theirs[len(theirs)-1] == ours[len(ours)-1] {
		theirs, ours = theirs[:len(theirs)-1], ours[:len(ours)-1]
	}
	return strings.Join(ours, "")
}

// TestPage_SaysWhatTheProgramsPrint runs every program.
func TestPage_SaysWhatTheProgramsPrint(t *testing.T) {
	var index, sections strings.Builder
	for _, c := range table {
		fmt.Fprintf(&index, "- [%s](#%s)\n", c.title, anchor(c.title))
		fmt.Fprintf(&sections, "## %s\n\n", c.title)
		for _, p := range c.programs {
			fmt.Fprintf(&index, "  - [%s](#%s)\n", p.title, anchor(p.title))
			sections.WriteString(p.section(t, p.outputs(t)))
		}
	}
	want := head + index.String() + "\n" + strings.TrimSuffix(sections.String(), "\n")
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	}
	wanted, had := strings.Split(want, "\n"), strings.Split(read(t, page), "\n")
	for i := range max(len(wanted), len(had)) {
		if i >= len(wanted) || i >= len(had) || wanted[i] != had[i] {
			t.Fatalf("docs/learn/tutorials.md:%d is not what the programs say: go test ./tests/tutorials -update\nwant %q\n got %q",
				i+1, wanted[min(i, len(wanted)):min(i+2, len(wanted))], had[min(i, len(had)):min(i+2, len(had))])
		}
	}
}

// anchor is the name that a Markdown page gives to a heading.
func anchor(title string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-' || r == '_' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(title))
	return strings.ReplaceAll(kept, " ", "-")
}
