package docs

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

var update = flag.Bool("update", false, "make the blocks of the pages anew")

func pathOf(page string) string { return filepath.Join(root, "docs", "learn", page) }

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(pathOf(name))
	require.NoError(t, err)
	return string(raw)
}

// picture is the first indented block of the package's comment.
func picture(t *testing.T, folder string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, folder, "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	var lines []string
	for _, line := range strings.Split(file.Doc.Text(), "\n") {
		switch text, indented := strings.CutPrefix(line, "\t"); {
		case indented:
			lines = append(lines, text)
		case line == "" && len(lines) > 0: // it may have empty lines inside
			lines = append(lines, "")
		case len(lines) > 0:
			return strings.Join(lines, "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// exampleOutput is what the Example of the package prints.
func exampleOutput(t *testing.T, folder string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, folder, "example_test.go"))
	require.NoError(t, err)
	_, output, found := strings.Cut(string(text), "\t// Output:\n")
	require.True(t, found, "%s has no Example with an output", folder)
	output, _, _ = strings.Cut(output, "\n}")
	return strings.ReplaceAll(strings.TrimPrefix(output, "\t// "), "\n\t// ", "\n")
}

// demoStep is one numbered step of what the demo prints, as its golden file has it.
func demoStep(t *testing.T, demo, step string) string {
	t.Helper()
	golden, err := os.ReadFile(filepath.Join(root, "cmd", demo, "testdata", demo+".golden"))
	require.NoError(t, err)
	steps := regexp.MustCompile(`(?m)^ ?\d+ .*\n(?:[ ]{3}.*\n)*`).FindAllString(string(golden), -1)
	for _, s := range steps {
		if strings.HasPrefix(strings.TrimSpace(s), step+" ") {
			return s
		}
	}
	t.Fatalf("%s has no step %s", demo, step)
	return ""
}

// stories runs the walkthrough of every package that a block of the page tells of.
func stories(t *testing.T, blocks []string) map[string]string {
	t.Helper()
	args := []string{"test", "-json", "-run", "^TestWalkthrough$"}
	for _, name := range blocks {
		if folder, isStory := strings.CutPrefix(name, "story "); isStory {
			args = append(args, "./"+folder)
		}
	}
	command := exec.Command("go", args...)
	command.Dir = root
	out, err := command.Output()
	require.NoError(t, err, "%s", out)
	told := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for decoder.More() {
		var event struct{ Action, Package, Test, Output string }
		require.NoError(t, decoder.Decode(&event))
		_, claim, isStep := strings.Cut(event.Test, "/")
		folder := strings.TrimPrefix(event.Package, "glasswatch/")
		switch logged := logLine.FindStringSubmatch(event.Output); {
		case event.Action == "run" && isStep:
			told[folder] += strings.ReplaceAll(claim, "_", " ") + "\n"
		case logged != nil && isStep:
			told[folder] += "     " + strings.TrimSpace(logged[1]) + "\n"
		}
	}
	return told
}

// logLine is what internal/book prints of the log's two queues. A page shows these beside the claims, and nothing else
// that a walkthrough prints: the reader runs it.
var logLine = regexp.MustCompile(`^    saw  ((?:per key|in order): .*)\n$`)
