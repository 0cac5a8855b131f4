package mutants

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// root is the module, seen from a folder of tests.
const root = "../.."

// Patience is how long the tests of a layer may take with a bug in them. Whoever still runs then hangs, which is red, too.
const Patience = time.Minute

// Mutant is one bug.
type Mutant struct {
	Name, File, Why string
	before, after   string // the piece of File without and with the bug
}

// Layer is the folder that the bug is in.
func (m Mutant) Layer() string { return path.Dir(m.File) }

// Apply returns the file with the bug. It must be called from the tests of a folder in tests, as the rest of this package.
func (m Mutant) Apply() (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.File)))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.before); n != 1 {
		return "", fmt.Errorf("mutant %s: its piece of %s is there %d times, not once:\n%s", m.Name, m.File, n, m.before)
	}
	return strings.Replace(string(text), m.before, m.after, 1), nil
}

// Read returns the mutants in the files that the pattern matches.
func Read(t *testing.T, pattern string) []Mutant {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
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
	name, file, ok := strings.Cut(head, " ")
	require.True(t, ok, "%s: %q is not a name and a file", from, head)
	m := Mutant{Name: name, File: file}
	for _, line := range strings.Split(rest, "\n") {
		if line == "" {
			continue
		}
		switch code := line[1:] + "\n"; line[0] {
		case ' ':
			m.before += code
			m.after += code
		case '-':
			m.before += code
		case '+':
			m.after += code
		default:
			m.Why += line + " "
		}
	}
	require.NotEmpty(t, m.Why, "%s: %s does not say what is wrong with it", from, name)
	require.NotEqual(t, m.before, m.after, "%s: %s changes nothing", from, name)
	require.LessOrEqual(t, max(changed(rest, "-"), changed(rest, "+")), 1, "%s: %s is more than one line", from, name)
	return m
}

func changed(text, sign string) int { return strings.Count("\n"+text, "\n"+sign) }

// Build compiles the tests of a folder with other texts in the place of some files.
func Build(t *testing.T, layer string, texts map[string]string) string {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for file, text := range texts {
		mutated := filepath.Join(dir, path.Base(file))
		require.NoError(t, os.WriteFile(mutated, []byte(text), 0o600))
		original, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(file)))
		require.NoError(t, err)
		replace[original] = mutated
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	require.NoError(t, err)
	overlayFile := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))

	binary := filepath.Join(dir, "layer.test")
	// Without what debuggers want, linking is faster.
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlayFile, "-o", binary, "./"+layer)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s does not compile:\n%s", layer, out)
	return binary
}

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	ended  = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*|SIG\w+: .*|goleak: .*)$`)
)

// Run reports whether the tests of a folder are red, and which one or what said so. args are for the binary that Build made.
func Run(t *testing.T, layer, binary string, patience time.Duration, args ...string) (by string, red bool) {
	t.Helper()
	args = append(args, "-test.failfast", "-test.timeout="+patience.String())
	if usage, _ := exec.Command(binary, "-help").CombinedOutput(); strings.Contains(string(usage), "rapid.nofailfile") {
		// Or the next run would begin with this one's failures; and how little it takes to fail does not matter here.
		args = append(args, "-rapid.nofailfile", "-rapid.shrinktime=0s")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(layer))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return "", false
	}
	if hit := failed.FindSubmatch(out); hit != nil {
		return string(hit[1]), true
	}
	if hit := ended.FindSubmatch(out); hit != nil {
		return string(hit[1]), true
	}
	require.Error(t, ctx.Err(), "the tests ended with %v and do not say why:\n%s", err, out)
	return "a hang", true
}
