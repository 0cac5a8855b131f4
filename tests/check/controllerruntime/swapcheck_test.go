package controllerruntime

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sampleController copies the sample-controller's module, and has it use the client-go of this module, which is
// compiled already.
func sampleController(t *testing.T) (dir string) {
	t.Helper()
	const module = "k8s.io/sample-controller"
	dir = t.TempDir()
	from := strings.TrimSpace(command(t, "list", "-m", "-f", "{{.Dir}}", module))
	require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	command(t, "mod", "edit", "-module="+module, "-droprequire="+module,
		"-droprequire=glasswatch", "-dropreplace=glasswatch", filepath.Join(dir, "go.mod"))
	return dir
}

func TestSwapcheck_IsRightOnTheSampleController(t *testing.T) {
	dir := sampleController(t)
	cmd := exec.Command("go", "run", "-C", "..", "./swapcheck", dir)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod "+os.Getenv("GOFLAGS"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.Error(t, err, "it ends with a status that says that there are uses")
	require.Contains(t, stderr.String(), "exit status 1\n")

	list, _, _ := strings.Cut(string(out), "\n\n")
	var found []string
	for line := range strings.Lines(list) {
		m := regexp.MustCompile(`^(\S+):\d+:\d+: (\S+): different: `).FindStringSubmatch(line)
		require.NotNil(t, m, line)
		found = append(found, m[1]+" "+m[2])
	}
	const generated = "pkg/generated/informers/externalversions/samplecontroller/v1alpha1/foo.go"
	require.Equal(t, []string{
		"controller.go workqueue.NewTypedItemExponentialFailureRateLimiter",
		"controller.go workqueue.TypedBucketRateLimiter",
		"controller.go workqueue.NewTypedRateLimitingQueue",
		"controller.go workqueue.TypedInterface.Done",
		generated + " cache.NewSharedIndexInformerWithOptions",
		generated + " cache.SharedIndexInformerOptions",
	}, found)
}
