package operatorsteps

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// step is one of the seven programs.
type step struct {
	name, diff string // the diff that made it of the one before
	program    string
}

// steps applies the diffs in the order of their names.
func steps(t *testing.T) (steps []step) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs", "learn", "operator", "*.diff"))
	require.NoError(t, err)
	require.Len(t, files, 7)
	program := ""
	for n, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".diff")
		require.True(t, strings.HasPrefix(name, fmt.Sprintf("%02d-", n+1)), name)
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		program, err = apply(program, string(raw))
		require.NoError(t, err, name)
		steps = append(steps, step{name, string(raw), program})
	}
	return steps
}

var hunkHeader = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// apply is as strict as git: the lines of a hunk must be at the places that its header says.
func apply(text, diff string) (string, error) {
	was := strings.SplitAfter(text, "\n")
	lines := strings.SplitAfter(diff, "\n")
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "--- ") || !strings.HasPrefix(lines[1], "+++ ") {
		return "", fmt.Errorf("no diff: %.40q", diff)
	}
	var is []string
	read := 0 // lines of was that are done with
	left, right := 0, 0
	for _, line := range lines[2:] {
		if header := hunkHeader.FindStringSubmatch(line); header != nil {
			if left != 0 || right != 0 {
				return "", fmt.Errorf("the hunk before %q has other lengths than its header says", line)
			}
			start := number(header[1], 1)
			left, right = number(header[2], 1), number(header[4], 1)
			if left > 0 {
				start--
			}
			if start < read || start > len(was) {
				return "", fmt.Errorf("%q: there is no such place", line)
			}
			is = append(is, was[read:start]...)
			if read = start; right > 0 && len(is)+1 != number(header[3], 1) {
				return "", fmt.Errorf("%q: the hunk begins in line %d", line, len(is)+1)
			}
			continue
		}
		if line == "" {
			continue
		}
		if line[0] != '+' { // context, or taken away
			if line[0] != ' ' && line[0] != '-' || read >= len(was) || was[read] != line[1:] {
				return "", fmt.Errorf("line %d: want %q", read+1, line)
			}
			read++
			left--
		}
		if line[0] != '-' {
			is = append(is, line[1:])
			right--
		}
	}
	if left != 0 || right != 0 {
		return "", fmt.Errorf("the last hunk has other lengths than its header says")
	}
	return strings.Join(append(is, was[read:]...), ""), nil
}

func number(s string, without int) int {
	if s == "" {
		return without
	}
	n, _ := strconv.Atoi(s) // the expression has digits only
	return n
}

func TestSteps_ApplyWithTheCommandOfThePage(t *testing.T) {
	const command = "git apply --directory=cmd/myoperator docs/learn/operator/01-listwatch.diff\n"
	page, err := os.ReadFile(pagePath)
	require.NoError(t, err)
	require.Contains(t, string(page), command)
	dir := t.TempDir()
	docs, err := filepath.Abs(filepath.Join(root, "docs", "learn", "operator"))
	require.NoError(t, err)
	for _, s := range steps(t) {
		git := exec.Command("git", "apply", "--directory=cmd/myoperator", filepath.Join(docs, s.name+".diff"))
		git.Dir = dir
		out, err := git.CombinedOutput()
		require.NoError(t, err, "%s: %s", s.name, out)
		applied, err := os.ReadFile(filepath.Join(dir, "cmd", "myoperator", "main.go"))
		require.NoError(t, err)
		require.Equal(t, s.program, string(applied))
	}
}

func TestApply_IsStrict(t *testing.T) {
	const head = "--- a/x\n+++ b/x\n"
	got, err := apply("a\nb\nc\nd\n", head+"@@ -2,2 +2,3 @@\n b\n-c\n+x\n+y\n")
	require.NoError(t, err)
	require.Equal(t, "a\nb\nx\ny\nd\n", got)
	got, err = apply("", head+"@@ -0,0 +1,2 @@\n+a\n+b\n")
	require.NoError(t, err)
	require.Equal(t, "a\nb\n", got)
	for diff, want := range map[string]string{
		"a":                                   "no diff",
		head + "@@ -2,1 +2,1 @@\n-c\n+x\n":    "line 2: want",
		head + "@@ -9,1 +9,1 @@\n-c\n+x\n":    "no such place",
		head + "@@ -2,1 +3,1 @@\n-b\n+x\n":    "begins in line 2",
		head + "@@ -2,2 +2,1 @@\n-b\n+x\n":    "the last hunk",
		head + "@@ -2,1 +2,1 @@\n*b\n-b\n+\n": "line 2: want",
		head + "@@ -1,2 +1,1 @@\n-a\n+x\n@@ -3,1 +3,1 @@\n-c\n+x\n": "other lengths",
	} {
		_, err := apply("a\nb\nc\nd\n", diff)
		require.ErrorContains(t, err, want, diff)
	}
}
