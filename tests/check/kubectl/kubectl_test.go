// Package kubectl uses the ingress controller by the upstream kubectl, as a person does: once with --embedded, and once
// on a real API server (tests/check/controlplane).
package kubectl

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/check/controlplane"
)

// terminal is a running controller and the kubectl to talk to it with.
type terminal struct {
	t          *testing.T
	kubectl    string
	kubeconfig string
	transcript []string // what was run, and what came back, masked
}

// onBothServers runs one story on both servers: kubectl must get the same answers from our API server as from the real
// one.
func onBothServers(t *testing.T, story func(*testing.T, *terminal)) {
	if runtime.GOOS == "windows" {
		t.Skip("the test stops the controller with SIGTERM, which Windows does not have")
	}
	kubectl := findKubectl(t)
	var embedded, upstream []string
	t.Run("server=embedded", func(t *testing.T) {
		s := &terminal{t: t, kubectl: kubectl}
		defer func() { embedded = s.transcript }()
		t.Cleanup(func() { require.NoFileExists(t, s.kubeconfig) }) // after the controller has ended
		s.kubeconfig = announced(runController(t, "--embedded"))
		require.NotEmpty(t, s.kubeconfig, "no line of the output is the path of a file named kubeconfig")
		story(t, s)
	})
	t.Run("server=upstream", func(t *testing.T) {
		s := &terminal{t: t, kubectl: kubectl, kubeconfig: controlplane.Start(t).Kubeconfig(controlplane.Admin)}
		defer func() { upstream = s.transcript }()
		go discard(runController(t, "--kubeconfig="+s.kubeconfig))
		story(t, s)
	})
	if upstream != nil && !t.Failed() {
		require.Equal(t, embedded, upstream, "kubectl can tell the servers apart")
	}
}

// masks replace the parts that differ between two runs on one server, too.
var masks = []struct {
	what *regexp.Regexp
	mask string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), "UID"},
	{regexp.MustCompile(`\b10(\.\d+){3}\b`), "IP"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} [\d :+]+`), "TIME"},
	{regexp.MustCompile(`\b(\d+m)?\d+s\b|\b\d+m\b`), "AGE"}, // two minutes are 2m
	{regexp.MustCompile(`\(x\d+ over AGE\)`), "(xN over AGE)"},
	{regexp.MustCompile(`((?:resourceVersion|Resource Version)\W+)\d+`), "${1}N"},
	{regexp.MustCompile(`--cache-dir=\S+`), "--cache-dir=DIR"},
	{regexp.MustCompile(` +`), " "}, // columns are as wide as what was masked
}

func (s *terminal) note(command, output string) {
	entry := "$ kubectl " + command + "\n" + output
	for _, m := range masks {
		entry = m.what.ReplaceAllString(entry, m.mask)
	}
	s.transcript = append(s.transcript, entry)
}

// runController runs the ingress controller.
func runController(t *testing.T, args ...string) *bufio.Scanner {
	return runProgram(t, "ingress-controller", args...)
}

// runProgram runs a controller for as long as the test, and then wants it to obey SIGTERM.
func runProgram(t *testing.T, name string, args ...string) *bufio.Scanner {
	var log bytes.Buffer
	cmd := exec.Command(build(t, name), append(args, "--metrics-addr=", "--health-addr=")...)
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait(), "want exit code 0 on SIGTERM; log:\n%s", &log)
		if t.Failed() {
			t.Logf("the controller's log:\n%s", &log)
		}
	})
	return bufio.NewScanner(stdout)
}

// announced returns the path of the kubeconfig that --embedded prints.
func announced(lines *bufio.Scanner) string {
	defer func() { go discard(lines) }()
	for lines.Scan() {
		if path := strings.TrimSpace(lines.Text()); filepath.Base(path) == "kubeconfig" && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}

// discard reads on, so that the program never blocks on its output.
func discard(lines *bufio.Scanner) {
	for lines.Scan() {
	}
}

// build compiles the controllers once for all tests; TestMain removes them.
func build(t *testing.T, name string) string {
	binary.once.Do(func() {
		var out []byte
		if binary.dir, binary.err = os.MkdirTemp("", "glasswatch-"); binary.err == nil {
			build := exec.Command("go", "build", "-o", binary.dir, "./cmd/ingress-controller", "./cmd/foo-controller")
			build.Dir = "../../.."
			out, binary.err = build.CombinedOutput()
		}
		binary.output = string(out)
	})
	require.NoError(t, binary.err, "%s", binary.output)
	return filepath.Join(binary.dir, name)
}

var binary struct {
	once        sync.Once
	dir, output string
	err         error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if binary.dir != "" {
		os.RemoveAll(binary.dir)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func findKubectl(t *testing.T) string {
	path, err := filepath.Abs("../../../bin/kubectl")
	require.NoError(t, err)
	require.FileExists(t, path, "make kubectl")
	return path
}

func (s *terminal) run(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*apiservertest.Patience) // more than timeout
	defer cancel()
	cmd := exec.CommandContext(ctx, s.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "HOME="+filepath.Dir(s.kubeconfig))
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ok runs kubectl with the words of line and wants success.
func (s *terminal) ok(line string) string {
	s.t.Helper()
	return s.okWith("", line)
}

func (s *terminal) okWith(stdin, line string) string {
	s.t.Helper()
	out, err := s.run(stdin, strings.Fields(line)...)
	require.NoError(s.t, err, "kubectl %s\n%s", line, out)
	s.note(line, out)
	return out
}

// fails wants an error that says this.
func (s *terminal) fails(stdin, line, want string) {
	s.t.Helper()
	out, err := s.run(stdin, strings.Fields(line)...)
	require.Error(s.t, err, "kubectl %s\n%s", line, out)
	require.Contains(s.t, out, want, "kubectl %s", line)
	s.note(line, out)
}

// edit runs `kubectl edit` with an editor that replaces one text by another.
func (s *terminal) edit(what, from, to string) {
	s.t.Helper()
	editor := filepath.Join(s.t.TempDir(), "editor")
	require.NoError(s.t, os.WriteFile(editor, []byte("#!/bin/sh\nexec sed -i.bak 's|"+from+"|"+to+"|' \"$1\"\n"), 0o755))
	cmd := exec.Command(s.kubectl, "edit", what)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "HOME="+filepath.Dir(s.kubeconfig), "KUBE_EDITOR="+editor,
		"TMPDIR="+filepath.Dir(editor)) // sed leaves the file as it was beside it
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "%s", out)
	require.Contains(s.t, string(out), "edited")
}

func (s *terminal) matches(line, pattern string) {
	s.t.Helper()
	require.Regexp(s.t, regexp.MustCompile(pattern), s.ok(line), "kubectl %s", line)
}

// shows is matches for an answer in which the servers differ: ours serves the stable versions of fewer resources.
func (s *terminal) shows(line, pattern string) {
	s.t.Helper()
	out, err := s.run("", strings.Fields(line)...)
	require.NoError(s.t, err, "kubectl %s\n%s", line, out)
	require.Regexp(s.t, regexp.MustCompile(pattern), out, "kubectl %s", line)
}

// until asks again till the answer matches.
func (s *terminal) until(line, pattern string) {
	s.t.Helper()
	want := regexp.MustCompile(pattern)
	apiservertest.Eventually(s.t, "kubectl "+line, func() error {
		out, err := s.run("", strings.Fields(line)...)
		if err != nil || !want.MatchString(out) {
			return fmt.Errorf("want %s, got %v and\n%s", pattern, err, out)
		}
		return nil
	})
}

// timeout is for all that kubectl waits for.
const timeout = " --timeout=180s"

const (
	untilCreated = " --for=create" + timeout
	untilDeleted = " --for=delete" + timeout
)

func (s *terminal) waitHost(name, host string) {
	s.t.Helper()
	s.ok("wait ingress " + name + " --for=jsonpath={.spec.rules[0].host}=" + host + timeout)
}
