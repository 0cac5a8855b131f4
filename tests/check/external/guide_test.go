package external

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// block is a block of code of docs/use/swap.md.
type block struct{ language, text string }

func guide(t *testing.T) (page string, blocks []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "use", "swap.md"))
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block{m[1], m[2]})
	}
	return string(text), blocks
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}

// patched applies a diff. A line that starts with @@ begins a hunk, and names it for readers.
func patched(t *testing.T, text, diff string) string {
	t.Helper()
	for _, hunk := range regexp.MustCompile("(?m)^@@ .*\n").Split(diff, -1)[1:] {
		var was, is strings.Builder
		for line := range strings.Lines(hunk) {
			switch rest := line[1:]; line[0] {
			case ' ':
				was.WriteString(rest)
				is.WriteString(rest)
			case '-':
				was.WriteString(rest)
			case '+':
				is.WriteString(rest)
			default:
				require.Fail(t, "no line of a diff", line)
			}
		}
		require.Equal(t, 1, strings.Count(text, was.String()), "the place of the hunk:\n%s", hunk)
		text = strings.Replace(text, was.String(), is.String(), 1)
	}
	return text
}

// Every block is taken from a file that is compiled, or is a command that a test runs.
func TestGuide_EveryBlockIsCompiledOrRun(t *testing.T) {
	_, blocks := guide(t)
	diffs := []string{"factory", "manager"}
	for _, b := range blocks {
		switch b.language {
		case "diff":
			require.NotEmpty(t, diffs, "which module is this of?\n%s", b.text)
			module := diffs[0]
			diffs = diffs[1:]
			before, after := read(t, module, "before", "main.go"), read(t, module, "after", "main.go")
			require.Equal(t, after, patched(t, before, b.text))
		case "go":
			require.Contains(t, read(t, "factory", "writes", "main.go"), b.text)
		case "sh":
			for command := range strings.Lines(b.text) {
				require.Regexp(t, known, command)
			}
		case "text":
			require.Regexp(t, detected(t), strings.TrimSuffix(b.text, "\n"))
		default:
			require.Fail(t, "a block that nothing checks", "%s\n%s", b.language, b.text)
		}
	}
	require.Empty(t, diffs, "the page does not show these")
}

// known are the commands that are run: of swapcheck by its own tests, the others by those of the steps.
var known = regexp.MustCompile(`^(gofmt -w -r '.+' \.` +
	`|go run -C /path/to/glasswatch/tests/check \./swapcheck "\$PWD"` +
	`|go build -C /path/to/glasswatch/tests/check -o /tmp/swapcheck \./swapcheck|GOOS=windows /tmp/swapcheck "\$PWD"` +
	`|go mod edit -require glasswatch@v0\.0\.0 -replace glasswatch=/path/to/glasswatch` +
	`|go mod edit -droprequire glasswatch -dropreplace glasswatch|go mod tidy)\n$`)

// steps returns the page's commands of gofmt and go mod, in order, with the checkout in place.
func steps(t *testing.T) (commands []string) {
	t.Helper()
	checkout, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	_, blocks := guide(t)
	for _, b := range blocks {
		for command := range strings.Lines(b.text) {
			if b.language == "sh" && (strings.HasPrefix(command, "gofmt ") || strings.HasPrefix(command, "go mod ")) {
				commands = append(commands, strings.ReplaceAll(command, "/path/to/glasswatch", checkout))
			}
		}
	}
	return commands
}

func TestGuide_ItsStepsInTheirOrderMakeAModuleThatCompiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(read(t, "direct", "before", "main.go")), 0o600))
	for _, name := range []string{"go.mod", "go.sum"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(read(t, "direct", name)), 0o600))
	}
	shell := func(command string, flags ...string) (string, error) {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), "GOWORK=off"), flags...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	run := func(command string) {
		t.Helper()
		out, err := shell(command)
		require.NoError(t, err, "%s: %s", command, out)
	}
	run("go mod edit -dropreplace glasswatch -droprequire glasswatch && go mod tidy")
	before := read(t, dir, "go.mod")
	require.NotContains(t, before, "glasswatch v")

	commands := steps(t)
	require.Len(t, commands, 8)
	run(commands[0])
	vendor := filepath.Join(dir, "vendor")
	require.NoError(t, os.Mkdir(vendor, 0o700))
	out, err := shell("go list ./...", "GOFLAGS=")
	require.Error(t, err)
	require.Contains(t, out, "inconsistent vendoring")
	require.NoError(t, os.Remove(vendor))
	for _, command := range commands[1:4] {
		run(command)
	}
	run("go vet . && go list -m glasswatch")
	require.Equal(t, read(t, "direct", "after", "main.go"), read(t, dir, "main.go"))

	for _, command := range append(commands[4:], "go vet .") {
		run(command)
	}
	require.Equal(t, before, read(t, dir, "go.mod"))
}

func TestGuide_ItsCommandsChangeTheImportsThereAndBack(t *testing.T) {
	page, _ := guide(t)
	rules := regexp.MustCompile(`(?m)^gofmt -w -r '(.+)' \.$`).FindAllStringSubmatch(page, -1)
	require.Len(t, rules, 4)
	before, after := read(t, "direct", "before", "main.go"), read(t, "direct", "after", "main.go")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(before), 0o600))
	for i, want := range []string{"", after, "", before} {
		cmd := exec.Command("gofmt", "-w", "-r", rules[i][1], ".")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		if want != "" {
			require.Equal(t, want, read(t, dir, "main.go"))
		}
	}
}

// detected is the page's line about a write to the cache, for any of the objects that are alike.
func detected(t *testing.T) string {
	t.Helper()
	page, _ := guide(t)
	line := regexp.MustCompile(`(?m)^panic: .*$`).FindString(page)
	require.Contains(t, line, "web-2@9")
	return "^" + strings.Replace(regexp.QuoteMeta(line), "web-2@9", `web-\d@\d+`, 1) + "( |$)"
}

func TestGuide_NamesTheVersionThatIsRequired(t *testing.T) {
	page, _ := guide(t)
	version := regexp.MustCompile(`k8s.io/client-go (v\S+)\n`).FindStringSubmatch(read(t, "..", "..", "..", "go.mod"))
	require.NotNil(t, version)
	require.Contains(t, page, "glasswatch requires client-go "+version[1]+",")
}
