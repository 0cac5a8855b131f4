package pitfalls

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
)

//go:generate go test . -run TestPage -update

var update = flag.Bool("update", false, "write docs/learn/pitfalls.md and pitfalls-by-topic.md again")

const pages = "../../docs/learn"

// first are the pitfalls of docs/learn/pitfalls.md, in the order of the tour. All others are in pitfalls-by-topic.md.
var first = []string{
	"TestPitfall_StartingTheFactoryFirst",
	"TestPitfall_WorkingBeforeTheSync",
	"TestPitfall_MutatingACachedObject",
	"TestPitfall_AssertingTheTypeOfATombstone",
	"TestPitfall_BlockingInAHandler",
	"TestPitfall_QueueingObjects",
	"TestPitfall_NeverCallingDone",
	"TestPitfall_ForgetAfterAddRateLimited",
	"TestPitfall_ReadingOnesOwnWriteFromTheCache",
	"TestPitfall_RetryingAConflictWithTheSameObject",
}

// titles are the chapters of the second page, in order. Each is one file.
var titles = []struct{ file, title string }{
	{"queues_test.go", "Queues"},
	{"handlers_test.go", "Handlers"},
	{"waiting_test.go", "Starting and waiting"},
	{"caches_test.go", "Caches"},
	{"owners_test.go", "Ownership"},
	{"operators_test.go", "Operators"},
	{"children_test.go", "What operators make"},
	{"watches_test.go", "Watches"},
	{"writes_test.go", "Requests"},
	{"manifests_test.go", "Manifests"},
	{"serving_test.go", "Serving others"},
	{"logs_test.go", "Logs"},
	{"shards_test.go", "Shards"},
}

type chapter struct {
	Title    string
	Pitfalls []pitfall
}

// pitfall is one test: the parts of its comment, and its two halves.
type pitfall struct {
	Name, File                    string
	Mistake, Why, YouSee, Instead string
	Naive, Right                  string // Go code
}

// Anchor is the name that a Markdown page gives to the heading.
func (p pitfall) Anchor() string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-' || r == '_':
			return r
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(p.Mistake))
	return strings.ReplaceAll(kept, " ", "-")
}

var readChapters = sync.OnceValues(func() ([]chapter, error) {
	var all []chapter
	for _, t := range titles {
		text, err := os.ReadFile(t.file)
		if err != nil {
			return nil, err
		}
		pitfalls, err := readPitfalls(t.file, text)
		if err != nil {
			return nil, err
		}
		all = append(all, chapter{t.title, pitfalls})
	}
	return all, nil
})

func readPitfalls(file string, text []byte) ([]pitfall, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []pitfall
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "TestPitfall_") {
			continue
		}
		p := pitfall{Name: f.Name.Name, File: file}
		if err := p.readComment(f.Doc.Text()); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, p.Name, err)
		}
		cut := func(n ast.Node) string {
			return string(text[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset])
		}
		if err := p.readHalves(f.Body, cut); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, p.Name, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// readComment wants four paragraphs in the order that doc_test.go shows.
func (p *pitfall) readComment(text string) error {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(paragraphs[i]), " ")
	}
	fields := []struct {
		label string
		into  *string
	}{{"", &p.Mistake}, {"Why: ", &p.Why}, {"You see: ", &p.YouSee}, {"Instead: ", &p.Instead}}
	if len(paragraphs) != len(fields) {
		return fmt.Errorf("want %d paragraphs, got %d", len(fields), len(paragraphs))
	}
	for i, field := range fields {
		rest, ok := strings.CutPrefix(paragraphs[i], field.label)
		if !ok || rest == "" {
			return fmt.Errorf("paragraph %d does not begin with %q", i+1, field.label)
		}
		*field.into = rest
	}
	return nil
}

// readHalves wants a body that defines naive and right as functions, and ends with a call of contrast with both.
func (p *pitfall) readHalves(body *ast.BlockStmt, cut func(ast.Node) string) error {
	for _, s := range body.List {
		assign, ok := s.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 {
			continue
		}
		if name, ok := assign.Lhs[0].(*ast.Ident); ok && (name.Name == "naive" || name.Name == "right") {
			code, err := format.Source([]byte(cut(assign)))
			if err != nil {
				return err
			}
			if name.Name == "naive" {
				p.Naive = string(code)
			} else {
				p.Right = string(code)
			}
		}
	}
	if p.Naive == "" || p.Right == "" {
		return fmt.Errorf("it does not define naive and right")
	}
	last, ok := body.List[len(body.List)-1].(*ast.ExprStmt)
	if !ok || cut(last.X) != "contrast(t, property, naive, right)" {
		return fmt.Errorf("it does not end with contrast(t, property, naive, right)")
	}
	return nil
}

var layout = template.Must(template.New("pages").Parse(`{{define "pitfall"}}
### {{.Mistake}}

**Why:** {{.Why}}

**You see:** {{.YouSee}}

**Instead:** {{.Instead}}

` + "```go\n{{.Naive}}\n```\n\n```go\n{{.Right}}\n```" + `

[{{.File}}](../../tests/pitfalls/{{.File}}) · ` + "`go test -v ./tests/pitfalls -run {{.Name}}`" + `
{{end}}{{define "pitfalls.md"}}<!-- Made from the comments in tests/pitfalls: go test ./tests/pitfalls -run TestPage -update -->

# Ten pitfalls

People make these mistakes first. Each has a test with two halves. The naive half must break a property that the right half
keeps. "You see" quotes the error that the property returns for the naive half.
{{range .}}{{range .Pitfalls}}
- [{{.Mistake}}](#{{.Anchor}}){{end}}{{end}}

[All others, by topic](pitfalls-by-topic.md). All of them run: ` + "`go test -v ./tests/pitfalls`" + `
{{range .}}{{range .Pitfalls}}{{template "pitfall" .}}{{end}}{{end}}{{end}}{{define "pitfalls-by-topic.md"}}<!-- Made from the comments in tests/pitfalls: go test ./tests/pitfalls -run TestPage -update -->

# Pitfalls by topic

The [ten that come first](pitfalls.md) have a page of their own, which says how to read these. All of them run:
` + "`go test -v ./tests/pitfalls`" + `

{{range .}}- {{.Title}}
{{range .Pitfalls}}  - [{{.Mistake}}](#{{.Anchor}})
{{end}}{{end}}{{range .}}
## {{.Title}}
{{range .Pitfalls}}{{template "pitfall" .}}{{end}}{{end}}{{end}}`))

// divided are the chapters of each page: one of the pitfalls that come first, and the files' without them.
func divided(chapters []chapter) map[string][]chapter {
	ten := chapter{Pitfalls: make([]pitfall, len(first))}
	var others []chapter
	for _, c := range chapters {
		left := chapter{Title: c.Title}
		for _, p := range c.Pitfalls {
			if i := slices.Index(first, p.Name); i >= 0 {
				ten.Pitfalls[i] = p
			} else {
				left.Pitfalls = append(left.Pitfalls, p)
			}
		}
		others = append(others, left)
	}
	return map[string][]chapter{"pitfalls.md": {ten}, "pitfalls-by-topic.md": others}
}

func TestPage_SaysWhatTheCommentsSay(t *testing.T) {
	chapters, err := readChapters()
	require.NoError(t, err)
	for page, chapters := range divided(chapters) {
		var want bytes.Buffer
		require.NoError(t, layout.ExecuteTemplate(&want, page, chapters))
		file := filepath.Join(pages, page)
		if *update {
			require.NoError(t, os.WriteFile(file, want.Bytes(), 0o644))
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		requireSameLines(t, page, want.String(), strings.ReplaceAll(string(got), "\r\n", "\n"))
	}
}

// requireSameLines shows only the first difference: the whole page would hide it.
func requireSameLines(t *testing.T, page, want, got string) {
	t.Helper()
	wanted, had := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(wanted), len(had)) {
		if i >= len(wanted) || i >= len(had) || wanted[i] != had[i] {
			t.Fatalf("docs/learn/%s:%d is not what the comments say: go test ./tests/pitfalls -run TestPage -update\nwant %q\n got %q",
				page, i+1, wanted[min(i, len(wanted)):min(i+2, len(wanted))], had[min(i, len(had)):min(i+2, len(had))])
		}
	}
}

func TestPage_HasEveryPitfall(t *testing.T) {
	chapters, err := readChapters()
	require.NoError(t, err)
	listed, mistakes := map[string]bool{}, map[string]bool{}
	for i, p := range divided(chapters)["pitfalls.md"][0].Pitfalls {
		require.NotEmpty(t, p.Name, "there is no pitfall %s", first[i])
	}
	for _, c := range chapters {
		for _, p := range c.Pitfalls {
			listed[p.File] = true
			require.False(t, mistakes[p.Anchor()], "two pitfalls are called: %s", p.Mistake)
			mistakes[p.Anchor()] = true
			require.NotEqual(t, p.Naive, p.Right)
		}
	}
	require.GreaterOrEqual(t, len(mistakes), 20)
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), "\nfunc TestPitfall_") {
			require.True(t, listed[file], "%s has pitfalls and is no chapter of the page", file)
		}
	}
}
