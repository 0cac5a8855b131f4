package demos

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/check/controlplane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is the time for the cluster to remove a demo's objects. A demo itself may take long while it goes on saying something.
const patience = 2 * time.Minute

// withFaults are the demos that inject faults where they may.
var withFaults = []string{"00-toy", "02-crud", "03-watch", "04-reflector", "07-sharedinformer", "09-controller"}

// withDemo are the larger programs that have a demo among other things.
var withDemo = []string{"kubectl-lite"}

// bench is a control plane, and the demos as programs.
type bench struct {
	plane    *controlplane.Plane
	programs []string // paths, in the order of their numbers, and then those of withDemo
}

func newBench(t *testing.T) *bench {
	b := &bench{plane: controlplane.Start(t)}
	dirs, err := filepath.Glob(filepath.Join("..", "..", "..", "cmd", "[0-9][0-9]*-*"))
	require.NoError(t, err)
	require.Len(t, dirs, 14)
	for _, name := range withDemo {
		dirs = append(dirs, filepath.Join("..", "..", "..", "cmd", name))
	}
	out := t.TempDir()
	build := []string{"build", "-C", filepath.Join("..", "..", ".."), "-o", out + string(filepath.Separator)}
	for _, dir := range dirs {
		build = append(build, "./cmd/"+filepath.Base(dir))
		b.programs = append(b.programs, filepath.Join(out, filepath.Base(dir)))
	}
	text, err := exec.Command("go", build...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	return b
}

func (b *bench) command(t *testing.T, program string, args ...string) *exec.Cmd {
	if slices.Contains(withDemo, filepath.Base(program)) {
		args = append(args, "--demo")
	}
	return exec.CommandContext(t.Context(), program, append([]string{"--kubeconfig", b.plane.Kubeconfig(controlplane.Admin)}, args...)...)
}

// requireNothingLeft waits until the cluster has carried out the deletions that it was asked for.
func (b *bench) requireNothingLeft(t *testing.T, before []string) {
	t.Helper()
	require.NoError(t, apiservertest.Within(t.Context(), patience, func() error {
		left := slices.DeleteFunc(b.inventory(t), func(name string) bool { return slices.Contains(before, name) })
		if len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	}))
}

// inventory is all that a demo may make of cluster scope.
func (b *bench) inventory(t *testing.T) []string {
	cfg := b.plane.Config(controlplane.Admin)
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	namespaces, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	extensions, err := apiextensions.NewForConfig(cfg)
	require.NoError(t, err)
	definitions, err := extensions.ApiextensionsV1().CustomResourceDefinitions().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var names []string
	for _, namespace := range namespaces.Items {
		names = append(names, "namespace "+namespace.Name)
	}
	for _, definition := range definitions.Items {
		names = append(names, "definition "+definition.Name)
	}
	return names
}

func TestDemos_RunOnARealCluster(t *testing.T) {
	b := newBench(t)
	before := b.inventory(t)
	t.Run("at one time", func(t *testing.T) { // each in a namespace of its own
		for _, program := range b.programs {
			t.Run(filepath.Base(program), func(t *testing.T) {
				t.Parallel()
				b.requireStory(t, program)
			})
		}
	})
	t.Run("nothing is left", func(t *testing.T) { b.requireNothingLeft(t, before) })
	t.Run("interrupted", func(t *testing.T) { requireInterruptible(t, b, before) })
}

func (b *bench) requireStory(t *testing.T, program string) {
	name := filepath.Base(program)
	var stdout, stderr bytes.Buffer
	cmd := b.command(t, program)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s%s", &stdout, &stderr)
	require.Empty(t, stderr.String())
	require.Contains(t, stdout.String(), "namespace glasswatch-"+name+"-")
	require.Contains(t, stdout.String(), "Next: docs/learn/")
	require.Equal(t, slices.Contains(withFaults, name), strings.Contains(stdout.String(), "left out: faults"))
	require.NotContains(t, stdout.String(), "\x1b[", "colours are for terminals")
}

// requireInterruptible interrupts the demo that makes a definition, which is of cluster scope, while it is there.
func requireInterruptible(t *testing.T, b *bench, before []string) {
	program := b.programs[slices.IndexFunc(b.programs, func(p string) bool { return filepath.Base(p) == "10-customresource" })]
	for range 5 {
		made, code := b.interrupt(t, program, " 3 ")
		b.requireNothingLeft(t, before)
		if len(made) == len(before)+2 && code == 130 {
			return
		}
		require.Contains(t, []int{0, 130}, code)
	}
	t.Fatal("each time it had ended before the signal came")
}

// interrupt sends the signal of Ctrl-C when a line begins so. It returns what there was then, and the exit code.
func (b *bench) interrupt(t *testing.T, program, line string) (made []string, code int) {
	cmd := b.command(t, program)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), line) {
			made = b.inventory(t)
			_ = cmd.Process.Signal(os.Interrupt) // the error is that it has ended
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil {
		require.True(t, errors.As(err, &exit), "%v", err)
	}
	return made, cmd.ProcessState.ExitCode()
}

// The stories that go test ./... tells once are told on a cluster, interrupted and followed, too.
func TestStories_OnAClusterInterruptedAndFollowed(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join("..", "..", "..", "cmd", "[0-9][0-9]*-*"))
	require.NoError(t, err)
	args := []string{"test", "-count=1", "-run", "^TestDemo$", "./cmd/cloudmanager"}
	for _, folder := range folders {
		args = append(args, "./cmd/"+filepath.Base(folder))
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "-demo.all")...)
	cmd.Dir = filepath.Join("..", "..", "..")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
