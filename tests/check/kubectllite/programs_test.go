package kubectllite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program is kubectl-lite or kubectl.
type program struct {
	name, path string
	// applyFlags follow the word apply.
	applyFlags []string
}

func programs(t *testing.T) []program {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the words of the system's own errors are those of Unix")
	}
	kubectl := findKubectl(t)
	lite := filepath.Join(t.TempDir(), "kubectl-lite")
	build := exec.Command("go", "build", "-o", lite, "./cmd/kubectl-lite")
	build.Dir = root
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return []program{
		{name: "lite", path: lite},
		{name: "full", path: kubectl, applyFlags: []string{"--server-side", "--field-manager=kubectl-lite"}},
	}
}

// findKubectl returns the kubectl of this repository: others say some things differently.
func findKubectl(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin", "kubectl"))
	require.NoError(t, err)
	require.FileExists(t, path, "make kubectl")
	return path
}

// place is where one program meets one input: a namespace, a folder, and a kubeconfig whose context has the namespace.
type place struct {
	*site
	t         *testing.T
	program   program
	namespace string
	dir       string
	notes     strings.Builder // what the program did
}

func (p *place) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(p.t, os.WriteFile(path, []byte(p.fill(text)), 0o644))
}

// fill puts the namespace's name in, which is also part of the names of cluster scope.
func (p *place) fill(text string) string { return strings.ReplaceAll(text, "$NS", p.namespace) }

// run takes the words of a line, and notes what came of it.
func (p *place) run(line, stdin string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	words := strings.Fields(p.fill(line))
	if len(words) > 0 && words[0] == "apply" {
		words = append(append([]string{"apply"}, p.program.applyFlags...), words[1:]...)
	}
	cmd := exec.CommandContext(ctx, p.program.path, words...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(p.dir, "kubeconfig"), "HOME="+p.dir)
	cmd.Stdin = strings.NewReader(p.fill(stdin))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	before := p.essences()
	err := cmd.Run()
	require.NoError(p.t, ctx.Err(), "%s %s: %s%s", p.program.name, line, &stdout, &stderr)
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		require.NoError(p.t, err)
	}
	fmt.Fprintf(&p.notes, "$ kubectl %s\nstdout:\n%sstderr:\n%sexit status %d\n", line,
		p.plain(stdout.String()), p.plain(stderr.String()), cmd.ProcessState.ExitCode())
	if p.program.name == "lite" {
		checkWords(p.t, stdout.String(), before, p.essences())
	}
}
