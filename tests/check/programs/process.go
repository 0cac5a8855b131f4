package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"glasswatch/tests/check/controlplane"
)

// side is whose informers a program runs on.
type side string

const (
	clientGo side = "client-go"
	unshared side = "glasswatch, unshared"
	shared   side = "glasswatch"
)

// variable is the value of GLASSWATCH_INFORMERS.
func (s side) variable() string {
	return map[side]string{clientGo: "client-go", unshared: "unshared", shared: ""}[s]
}

const (
	manager     = "kube-controller-manager"
	scheduler   = "kube-scheduler"
	descheduler = "descheduler"
)

var programs = []string{manager, scheduler, descheduler}

// flagsOf let a program work as fast as it can, alone, without certificates of its own.
var flagsOf = map[string][]string{
	manager: {"--leader-elect=false", "--secure-port=0", "--kube-api-qps=5000", "--kube-api-burst=5000",
		"--use-service-account-credentials=false"},
	scheduler: {"--leader-elect=false", "--secure-port=0", "--kube-api-qps=5000", "--kube-api-burst=5000"},
	descheduler: {"--secure-port=0", "--client-connection-qps=5000", "--client-connection-burst=5000",
		"--descheduling-interval=10s"},
}

// policy has the descheduler look at all pods, and find none to evict.
const policy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: default
  pluginConfig:
  - name: DefaultEvictor
  - name: RemoveDuplicates
  - name: RemovePodsHavingTooManyRestarts
    args: {podRestartThreshold: 100, includingInitContainers: true}
  plugins:
    balance: {enabled: [RemoveDuplicates]}
    deschedule: {enabled: [RemovePodsHavingTooManyRestarts]}
`

// arguments of a program, whose policy is written to dir if it needs one.
func arguments(name, kubeconfig, dir string) ([]string, error) {
	args := append([]string{name, "--kubeconfig=" + kubeconfig}, flagsOf[name]...)
	if name != descheduler {
		return args, nil
	}
	file := filepath.Join(dir, "policy.yaml")
	return append(args, "--policy-config-file="+file), os.WriteFile(file, []byte(policy), 0o600)
}

// program is one that runs. Its methods are not safe for concurrent use.
type program struct {
	name  string
	cmd   *exec.Cmd
	dir   string
	relay *relay
	addr  string // of its HTTP server
	ended chan struct{}
	err   error // after ended
}

// startProgram returns when the process serves /look, which is before it knows anything of the API server.
func startProgram(ctx context.Context, binary, name string, s side, plane *controlplane.Plane) (p *program, err error) {
	p = &program{name: name, ended: make(chan struct{})}
	if p.dir, err = os.MkdirTemp("", "programs-"); err != nil {
		return nil, err
	}
	relay, kubeconfig, err := startRelay(plane.Kubeconfig(controlplane.Admin), p.dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	p.relay = relay
	defer func() {
		if err != nil {
			err = errors.Join(err, relay.close(), os.RemoveAll(p.dir))
		}
	}()
	log, err := os.Create(p.log())
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	args, err := arguments(name, kubeconfig, p.dir)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, binary, args...)
	p.cmd.Env = append(os.Environ(), "GLASSWATCH_INFORMERS="+s.variable())
	p.cmd.Stderr = log
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stdout)
	first, readErr := lines.ReadString('\n')
	go func() {
		defer close(p.ended)
		_, _ = io.Copy(io.Discard, lines)
		p.err = p.cmd.Wait()
	}()
	addr, ok := strings.CutPrefix(strings.TrimSpace(first), "look ")
	if !ok {
		_ = p.cmd.Process.Kill()
		<-p.ended
		return nil, fmt.Errorf("%s said %q (%v), not where to look\n%s", name, first, readErr, p.lastWords())
	}
	p.addr = addr
	return p, nil
}

func (p *program) log() string { return filepath.Join(p.dir, "log") }

// lastWords is the end of what it wrote.
func (p *program) lastWords() string {
	raw, _ := os.ReadFile(p.log())
	return string(raw[max(0, len(raw)-4000):])
}

// look is what the program says of itself. tests/check/kubernetes/programs has the same type.
type look struct {
	Since              time.Duration
	Ways               map[string]int
	ClientGoReflectors int64
	Synced             int
	LastSync           time.Duration
	CPU                time.Duration
	RSS, PeakRSS       int64
	Live               uint64
	Watches, Reads     int64
	Writes             int64
	Bytes              int64
	Versions           map[string]string // of upstream's modules in it, by path
}

func (l look) made() (n int) {
	for _, of := range l.Ways {
		n += of
	}
	return n
}

func (p *program) look(ctx context.Context, collect bool) (l look, err error) {
	path := "/look"
	if collect {
		path += "?gc=1"
	}
	raw, err := p.get(ctx, path)
	if err != nil {
		return l, err
	}
	return l, json.Unmarshal(raw, &l)
}

func (p *program) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", p.name, err, p.lastWords())
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", p.name, path, response.Status)
	}
	return io.ReadAll(response.Body)
}

// stop ends the program as a person would, and says so if it does not end well within a minute.
func (p *program) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	var late error
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		late = fmt.Errorf("%s did not end within a minute", p.name)
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	http.DefaultClient.CloseIdleConnections()
	if late == nil && p.err != nil && !endedBySignal(p.err) {
		late = fmt.Errorf("%s: %w\n%s", p.name, p.err, p.lastWords())
	}
	return errors.Join(late, p.relay.close(), os.RemoveAll(p.dir))
}

// endedBySignal says whether the process ended as it is asked to: the manager with 1, for it lost its election.
func endedBySignal(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && (exit.ExitCode() == 1 || exit.ExitCode() == -1)
}
