package external

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"glasswatch/internal/apiserver"
)

// patience is the time that a program has for one step of its story.
const patience = 30 * time.Second

// cluster is an API server in memory, and a file that says where it is.
type cluster struct {
	client     kubernetes.Interface
	kubeconfig string
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- apiserver.New(apiserver.Options{}).Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	config := apiserver.RESTConfigFor(listener)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	file := clientcmdapi.NewConfig()
	file.Clusters["memory"] = &clientcmdapi.Cluster{Server: config.Host}
	file.Contexts["memory"] = &clientcmdapi.Context{Cluster: "memory"}
	file.CurrentContext = "memory"
	c := cluster{client, filepath.Join(t.TempDir(), "kubeconfig")}
	require.NoError(t, clientcmd.WriteToFile(*file, c.kubeconfig))
	return c
}

// build compiles the packages of the module in dir into a folder of programs. GOFLAGS stay as they are, so that what
// was compiled for other tests serves here.
func build(t *testing.T, dir string) (programs string) {
	t.Helper()
	programs = t.TempDir()
	cmd := exec.Command("go", "build", "-o", programs+string(filepath.Separator), "./...")
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

// expect reads the program's output up to a line.
func (p *process) expect(line string) {
	p.t.Helper()
	timeout := time.After(patience)
	var read []string
	for {
		select {
		case got, open := <-p.lines:
			if !open {
				p.t.Fatalf("the program ended without the line %q: %v\n%s%q", line, p.cmd.Wait(), &p.stderr, read)
			}
			read = append(read, got)
			if got == line {
				return
			}
		case <-timeout:
			p.t.Fatalf("no line %q, but %q", line, read)
		}
	}
}

// end sends the program a signal, waits until it has ended, and returns what it wrote to its standard error.
func (p *process) end(signal syscall.Signal) (stderr string, err error) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(signal))
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	for range p.lines { // Wait may close the pipe only when all is read.
		continue
	}
	err = p.cmd.Wait()
	return p.stderr.String(), err
}
