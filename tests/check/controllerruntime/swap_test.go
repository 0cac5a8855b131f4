package controllerruntime

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// facades are the only lines that change.
var facades = strings.NewReplacer(
	`"k8s.io/client-go/tools/cache"`, `"glasswatch/compat/cache"`,
	`"k8s.io/client-go/util/workqueue"`, `"glasswatch/compat/workqueue"`,
)

// swapped copies modules with the imports changed, and returns a go.mod that uses the copies.
func swapped(t *testing.T, modules ...string) (modfile string) {
	t.Helper()
	dir := t.TempDir()
	modfile = filepath.Join(dir, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	checkout, err := filepath.Abs("../../..")
	require.NoError(t, err)
	command(t, "mod", "edit", "-replace=glasswatch="+checkout, modfile)
	for _, module := range modules {
		to := filepath.Join(dir, filepath.Base(module))
		changed := copyTree(t, moduleDir(t, module), to)
		require.Positive(t, changed, "%s imports neither package", module)
		command(t, "mod", "edit", "-replace="+module+"="+to, modfile)
	}
	return modfile
}

func moduleDir(t *testing.T, module string) string {
	t.Helper()
	return strings.TrimSpace(command(t, "list", "-m", "-f", "{{.Dir}}", module))
}

// copyTree copies the Go files below from and its go.mod, and reports how many of them changed.
func copyTree(t *testing.T, from, to string) (changed int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") && d.Name() != "go.mod" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		ours := facades.Replace(string(text))
		if ours != string(text) {
			changed++
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		return os.WriteFile(target, []byte(ours), 0o600)
	}))
	return changed
}

// command runs go and returns what it prints, without what goes to standard error: there it tells of downloads.
func command(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go %s:\n%s%s", strings.Join(args, " "), out, &stderr)
	return string(out)
}

func TestSampleController_PassesItsOwnTestsWithItsImportsChanged(t *testing.T) {
	modfile := swapped(t, "k8s.io/sample-controller")
	out := command(t, "test", "-mod=mod", "-modfile="+modfile, "-count=1", "-v", "k8s.io/sample-controller")
	require.Contains(t, out, "--- PASS: TestCreatesDeployment")
}
