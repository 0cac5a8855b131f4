package oneevent

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// most is how many functions one event may pass.
const most = 45

const page = root + "/docs/learn/one-event.md"

var write = flag.Bool("write", false, "write docs/learn/one-event.md anew; functions that it does not know come last, to be put in order by hand")

const head = `# One event, function by function

One change of a ConfigMap, on its way from the bytes of the watch to the return of a handler: every function of the layers that
runs, in order. The informer has one index, by namespace, and one handler; what ran is measured by ` + "`go test ./tests/oneevent`" + `.
That test compares this page with what it measured. After a change of the code, ` + "`go test ./tests/oneevent -write`" + ` writes the
page anew.

| | function | where | what it does |
|---|---|---|---|
`

// row finds the functions of the page.
var row = regexp.MustCompile("(?m)^\\| \\d+ \\| `([^`]+)` \\|")

func TestOneEvent_PassesTheFunctionsOfThePageAndNoOthers(t *testing.T) {
	measured := map[string]function{}
	for _, f := range ran(t) {
		measured[f.name] = f
	}
	require.NotEmpty(t, measured, "functions that ran")
	text, err := os.ReadFile(page)
	if *write {
		require.NoError(t, os.WriteFile(page, []byte(render(inOrder(string(text), measured))), 0o644))
		return
	}
	require.NoError(t, err)
	functions := inOrder(string(text), measured)
	require.LessOrEqual(t, len(functions), most, "functions that one event passes")
	require.Equal(t, render(functions), string(text),
		"docs/learn/one-event.md is not what was measured; go test ./tests/oneevent -write writes it anew")
}

func TestOneEvent_AProfileNamesTheFunctionsThatRan(t *testing.T) {
	file := "tests/oneevent/functions_test.go"
	var want function
	var profile strings.Builder
	for _, f := range parse(t, file) {
		count := 0
		if f.name == "oneevent.parse" {
			want, count = f, 1
		}
		fmt.Fprintf(&profile, "%s%s:%d.2,%d.3 1 %d\n", module, file, f.from, f.to, count)
	}
	require.NotZero(t, want)
	require.Equal(t, []function{want}, functionsIn(t, []byte(profile.String())))
}

// inOrder returns the measured functions in the order of the page, and those that it does not know behind them.
func inOrder(text string, measured map[string]function) []function {
	var functions []function
	placed := map[string]bool{}
	place := func(name string) {
		if f, ran := measured[name]; ran && !placed[name] {
			placed[name] = true
			functions = append(functions, f)
		}
	}
	for _, match := range row.FindAllStringSubmatch(text, -1) {
		place(match[1])
	}
	for _, layer := range []string{"wire.", "listwatch.", "reflector.", "deltafifo.", "indexer.", "sharedinformer.", ""} {
		for name := range measured {
			if strings.HasPrefix(name, layer) {
				place(name)
			}
		}
	}
	return functions
}

// render is the whole page.
func render(functions []function) string {
	var b strings.Builder
	b.WriteString(head)
	for i, f := range functions {
		fmt.Fprintf(&b, "| %d | `%s` | [%s:%d](../%s#L%d) | %s |\n", i+1, f.name, f.file, f.from, f.file, f.from, f.does)
	}
	return b.String()
}
