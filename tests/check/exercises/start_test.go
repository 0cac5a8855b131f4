package exercises

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/tests/exercises"
)

// repository returns a git repository that has the exercise's file and nothing else.
func repository(t *testing.T, e exercises.Exercise) (root string, git func(args ...string)) {
	root = t.TempDir()
	text, err := os.ReadFile(filepath.Join("../../..", filepath.FromSlash(e.File)))
	require.NoError(t, err)
	file := filepath.Join(root, filepath.FromSlash(e.File))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, text, 0o600))
	git = func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=reader", "-c", "user.email=reader@example.com"}, args...)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "git %v: %s", args, out)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "as it was")
	return root, git
}

func TestStart_BlanksAFunctionOnceAndLosesNothing(t *testing.T) {
	e := exercises.All[0]
	root, git := repository(t, e)
	file := filepath.Join(root, filepath.FromSlash(e.File))
	before, err := os.ReadFile(file)
	require.NoError(t, err)

	var out bytes.Buffer
	require.NoError(t, exercises.Start(root, []string{"01"}, &out))
	blanked, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(blanked), e.Blank())
	require.Contains(t, out.String(), "appendLocked is blank now")
	require.Contains(t, out.String(), "go test ./tests/exercises/01-fold-deltas\n")

	answered := append(blanked, "\n// half an answer\n"...)
	require.NoError(t, os.WriteFile(file, answered, 0o600))
	require.ErrorContains(t, exercises.Start(root, []string{"01"}, &out), "is changed already")
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(answered), string(kept))

	git("restore", e.File)
	restored, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(before), string(restored))
}

func TestStart_WithoutAnExerciseNamesThemAll(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, exercises.Start(t.TempDir(), nil, &out), "name one exercise")
	for _, e := range exercises.All {
		require.Contains(t, out.String(), e.Folder)
	}
	require.ErrorContains(t, exercises.Start(t.TempDir(), []string{"99"}, &out), `no exercise "99"`)
	require.ErrorContains(t, exercises.Start(t.TempDir(), []string{"01"}, &out), "in the root of the repository")
}
