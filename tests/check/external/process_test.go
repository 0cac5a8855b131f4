package external

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// patience is the time that a program has for one step of its story.
const patience = apiservertest.Patience

// cluster is an API server in memory, and a file that says where it is.
type cluster struct {
	client     kubernetes.Interface
	kubeconfig string
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	s := apiservertest.StartOnSocket(t, apiserver.Options{})
	return cluster{s.Client, s.Kubeconfig()}
}

// build compiles packages of the module in dir into a folder of programs. GOFLAGS stay as they are, so that what was
// compiled for other tests serves here.
func build(t *testing.T, dir string, packages ...string) (programs string) {
	t.Helper()
	programs = t.TempDir()
	cmd := exec.Command("go", append([]string{"build", "-o", programs + string(filepath.Separator)}, packages...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", dir, out)
	return programs
}

// process is a program that runs.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  chan string // of its standard output
	read   []string    // what next has returned
	stderr bytes.Buffer
}

// start runs the program on the cluster, with environment beside that of the test.
func start(t *testing.T, c cluster, program string, environment ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(program), lines: make(chan string, 1000)}
	p.cmd.Env = append(append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "GOTRACEBACK=all"), environment...)
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	return p
}

// next returns the next line of the program's output.
func (p *process) next() string {
	p.t.Helper()
	select {
	case line, open := <-p.lines:
		if !open {
			err := p.cmd.Wait()
			p.t.Fatalf("the program has ended after %q: %v\n%s", p.read, err, &p.stderr)
		}
		p.read = append(p.read, line)
		return line
	case <-time.After(patience):
		p.t.Fatalf("the program prints nothing after %q", p.read)
		return ""
	}
}

// expect reads the program's output up to a line.
func (p *process) expect(line string) {
	p.t.Helper()
	for p.next() != line {
		continue
	}
}

// end sends the program a signal, and waits until it has ended.
func (p *process) end(signal syscall.Signal) (stderr string, err error) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(signal))
	return p.wait()
}

// wait waits until the program has ended, and returns what it wrote to its standard error.
func (p *process) wait() (stderr string, err error) {
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	for range p.lines { // Wait may close the pipe only when all is read.
		continue
	}
	err = p.cmd.Wait()
	return p.stderr.String(), err
}
