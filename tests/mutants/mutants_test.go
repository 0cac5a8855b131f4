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
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// patience is how long a layer's tests may take with a bug in them. Whoever still runs then hangs, which is red, too.
const patience = time.Minute

// mutant is one bug.
type mutant struct {
	name, file, why string
	before, after   string // the piece of file without and with the bug
}

// layer is the folder whose tests must catch the mutant.
func (m mutant) layer() string { return path.Dir(m.file) }

// apply returns the file with the bug.
func (m mutant) apply() (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.before); n != 1 {
		return "", fmt.Errorf("mutant %s: its piece of %s is there %d times, not once:\n%s", m.name, m.file, n, m.before)
	}
	return strings.Replace(string(text), m.before, m.after, 1), nil
}

func readMutants(t *testing.T) []mutant {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	var all []mutant
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, part := range strings.Split("\n"+string(text), "\n== ")[1:] {
			all = append(all, parse(t, name, part))
		}
	}
	return all
}

func parse(t *testing.T, from, text string) mutant {
	t.Helper()
	head, rest, _ := strings.Cut(text, "\n")
	name, file, ok := strings.Cut(head, " ")
	require.True(t, ok, "%s: %q is not a name and a file", from, head)
	m := mutant{name: name, file: file}
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
			m.why += line + " "
		}
	}
	require.NotEmpty(t, m.why, "%s: %s does not say what is wrong with it", from, name)
	require.NotEqual(t, m.before, m.after, "%s: %s changes nothing", from, name)
	require.LessOrEqual(t, max(changed(rest, "-"), changed(rest, "+")), 1, "%s: %s is more than one line", from, name)
	return m
}

func changed(text, sign string) int { return strings.Count("\n"+text, "\n"+sign) }

func TestMutants_EachFitsTheCode(t *testing.T) {
	all := readMutants(t)
	require.GreaterOrEqual(t, len(all), 40)
	names := map[string]bool{}
	for _, m := range all {
		require.False(t, names[m.name], "two mutants are called %s", m.name)
		names[m.name] = true
		_, err := m.apply()
		require.NoError(t, err)
	}
}

func TestMutants_EachTurnsTheTestsOfItsLayerRed(t *testing.T) {
	if os.Getenv("GLASSWATCH_MUTANTS") == "" {
		t.Skip("takes about ten minutes: GLASSWATCH_MUTANTS=1 go test -v ./tests/mutants")
	}
	atOnce := make(chan struct{}, runtime.GOMAXPROCS(0))
	sound := map[string]bool{}
	for _, m := range readMutants(t) {
		if layer := m.layer(); !sound[layer] {
			sound[layer] = true
			t.Run("no bug in "+layer, func(t *testing.T) {
				t.Parallel()
				atOnce <- struct{}{}
				defer func() { <-atOnce }()
				by, red := run(t, layer, build(t, layer, nil))
				require.False(t, red, "%s is red without a bug, or slow, so its mutants prove nothing: %s", layer, by)
			})
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			text, err := m.apply()
			require.NoError(t, err)
			binary := build(t, m.layer(), map[string]string{m.file: text})
			start := time.Now()
			by, red := run(t, m.layer(), binary)
			require.True(t, red, "the tests of %s are green, although: %s", m.layer(), m.why)
			t.Logf("caught by %s in %.1f s: %s", by, time.Since(start).Seconds(), m.why)
		})
	}
}

// build compiles the layer's tests with other texts in the place of some files.
func build(t *testing.T, layer string, texts map[string]string) string {
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
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlayFile, "-o", binary, "./"+layer)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s does not compile:\n%s", layer, out)
	return binary
}

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	ended  = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*|SIG\w+: .*|goleak: .*)$`)
)

// run reports whether the tests are red, and which one or what said so.
func run(t *testing.T, layer, binary string) (by string, red bool) {
	t.Helper()
	args := []string{"-test.failfast", "-test.timeout=" + patience.String()}
	if usage, _ := exec.Command(binary, "-help").CombinedOutput(); strings.Contains(string(usage), "rapid.nofailfile") {
		args = append(args, "-rapid.nofailfile") // or the next run would begin with this one's failures
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
