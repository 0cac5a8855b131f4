package mutants

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Verdict is what became of a run of tests.
type Verdict int

const (
	Green Verdict = iota
	Red
	// TimedOut: the tests did not end in time. That is no verdict about a bug: the machine may have been slow.
	TimedOut
)

// setting is how tests are compiled, which is most of what a mutant costs.
type setting struct {
	flags []string
	// without are the files that are left out, as a pattern.
	without string
}

// settings, the cheapest first. The first takes two thirds of the second's time. It does not do where the tests need the files with
// the benchmarks, or an optimized build.
var settings = [...]setting{
	{[]string{"-gcflags=glasswatch/...=-N"}, "*bench*_test.go"},
	{},
}

// build compiles the tests of a folder with other texts in the place of some files. Neither vet nor a debugger looks at it.
func (how setting) build(t *testing.T, folder string, texts map[string]string) (p program, err error) {
	t.Helper()
	var without []string
	if how.without != "" {
		without, err = filepath.Glob(filepath.Join(absolute(t, folder), how.without))
		require.NoError(t, err)
	}
	p = program{folder: folder, file: filepath.Join(t.TempDir(), "layer.test")}
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay(t, texts, without), "-o", p.file}
	args = append(args, how.flags...)
	if out, err := goIn(append(args, "./"+folder)...); err != nil {
		return p, fmt.Errorf("%s does not compile:\n%s", folder, out)
	}
	if usage, _ := exec.Command(p.file, "-help").CombinedOutput(); strings.Contains(string(usage), "rapid.nofailfile") {
		// A file of failures would be the next run's beginning. A smaller failing input is of no use here.
		p.args = []string{"-rapid.nofailfile", "-rapid.shrinktime=0s"}
	}
	return p, nil
}

// goIn runs the go command in the module.
func goIn(args ...string) (out []byte, err error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	return cmd.CombinedOutput()
}

// overlay writes a file for the go command's -overlay: other texts in the place of some files, and some files as if they
// were not there.
func overlay(t *testing.T, texts map[string]string, without []string) (file string) {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for file, text := range texts {
		mutated := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		require.NoError(t, os.WriteFile(mutated, []byte(text), 0o600))
		replace[absolute(t, file)] = mutated
	}
	for _, file := range without {
		replace[file] = ""
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	require.NoError(t, err)
	file = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// Program compiles a program with bugs in it, each in a copy of its function. What Switch returns switches one on.
func Program(t *testing.T, folder string, all []Mutant) (binary string) {
	t.Helper()
	texts, alone, err := withCopies(all)
	require.NoError(t, err)
	require.Empty(t, alone, "they cannot be put into copies")
	binary = filepath.Join(t.TempDir(), "program")
	out, err := goIn("build", "-ldflags=-s -w", "-overlay", overlay(t, texts, nil), "-o", binary, "./"+folder)
	require.NoError(t, err, "%s", out)
	return binary
}

// Switch returns what goes into the environment of a [Program] so that it has the bug of that number, from 1, or none for 0.
func Switch(number int) string { return fmt.Sprintf("%s=%d", variable, number) }

func absolute(t *testing.T, file string) string {
	t.Helper()
	abs, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(file)))
	require.NoError(t, err)
	return abs
}

var (
	failed  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	late    = regexp.MustCompile(`(?m)^panic: test timed out`)
	inTest  = regexp.MustCompile(`(?m)^\S+\.(Test[A-Z]\w*)(\.func[\d.]+)?\(`) // of a stack
	crashed = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*|SIG\w+: .*|goleak: .*)$`)
)

// program is the compiled tests of a folder.
type program struct {
	folder, file string
	args         []string // that suit it
}

// run runs them up to the first that fails, with the bug of that number on, if they have it. by is that test, or the message that
// ended them.
func (p program) run(t *testing.T, number int, patience time.Duration, args ...string) (verdict Verdict, by string) {
	t.Helper()
	args = slices.Concat(args, p.args, []string{"-test.failfast", "-test.timeout=" + patience.String()})
	ctx, cancel := context.WithTimeout(t.Context(), patience+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.file, args...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(p.folder))
	cmd.Env = append(os.Environ(), Switch(number))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return Green, ""
	}
	verdict, by = judge(string(out))
	if verdict == Green && ctx.Err() != nil {
		return TimedOut, "killed"
	}
	require.NotEqual(t, Green, verdict, "the tests ended with %v and do not say why:\n%s", err, out)
	return verdict, by
}

// judge reads the output of tests that did not end well. Green says that it found no reason.
func judge(out string) (verdict Verdict, by string) {
	if hit := failed.FindStringSubmatch(out); hit != nil {
		return Red, hit[1]
	}
	if late.MatchString(out) {
		return TimedOut, "test timed out"
	}
	if hit := crashed.FindStringSubmatch(out); hit != nil {
		by = hit[1]
		if test := inTest.FindStringSubmatch(out); test != nil {
			by = test[1] + ", " + by
		}
		return Red, by
	}
	return Green, ""
}

func (v Verdict) String() string {
	return [...]string{"green", "red", "timed out"}[v]
}

// patienceAfter is how long tests may take with a bug in them if they took so long without one.
func patienceAfter(took time.Duration) time.Duration { return 2*time.Minute + 5*took }

// Tally counts mutants.
type Tally struct {
	caught   int
	timedOut []string
	missed   []string
}

func (c *Tally) String() string {
	text := fmt.Sprintf("%d mutants caught, %d timed out %v", c.caught, len(c.timedOut), c.timedOut)
	if len(c.missed) > 0 {
		text += fmt.Sprintf(", %d not caught %v", len(c.missed), c.missed)
	}
	return text
}

// tooMany tells whether more timed out than may: one in twenty.
func (c *Tally) tooMany() bool { return 20*len(c.timedOut) > c.caught+len(c.timedOut) }

func (c *Tally) add(other *Tally) {
	c.caught += other.caught
	c.timedOut = append(c.timedOut, other.timedOut...)
	c.missed = append(c.missed, other.missed...)
}

// problems are what is wrong with the counts. So many bugs have to be caught; one that timed out is not, nor is it missed.
func (c *Tally) problems(mustCatch, mayMiss int) (all []string) {
	if c.tooMany() {
		all = append(all, fmt.Sprintf("more than one in twenty timed out: %v", c.timedOut))
	}
	if len(c.missed) > mayMiss {
		all = append(all, fmt.Sprintf("not caught: %v", c.missed))
	}
	if c.caught < mustCatch {
		all = append(all, fmt.Sprintf("%d are caught, want %d", c.caught, mustCatch))
	}
	return all
}

// judge says what came of the bugs, all of which have to be caught but for those that timed out.
func (c *Tally) judge(t *testing.T) {
	t.Helper()
	c.judgeBy(t, 0, 0)
}

func (c *Tally) judgeBy(t *testing.T, mustCatch, mayMiss int) {
	t.Helper()
	t.Log(c)
	for _, problem := range c.problems(mustCatch, mayMiss) {
		t.Error(problem)
	}
}
