package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a running controller.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	log   *logBuffer
	ended chan struct{} // closed when it has ended; err is set before
	err   error
}

// logBuffer is what the process has written to standard error.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// start runs the controller. At the end of the test it must obey SIGTERM and exit with 0, if it has not ended by then.
func start(t *testing.T, kubeconfig string, args ...string) *process {
	t.Helper()
	return startProgram(t, program(t), kubeconfig, args...)
}

func startProgram(t *testing.T, path, kubeconfig string, args ...string) *process {
	t.Helper()
	p := &process{t: t, log: &logBuffer{}, ended: make(chan struct{})}
	p.cmd = exec.Command(path, append([]string{"--kubeconfig=" + kubeconfig}, args...)...)
	p.cmd.Stderr = p.log
	require.NoError(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		select {
		case <-p.ended:
		default:
			p.terminate()
		}
		if t.Failed() {
			t.Logf("the program's log:\n%s", p.log)
		}
	})
	return p
}

// terminate asks it to end, as a kubelet does, and waits for that.
func (p *process) terminate() {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Errorf("SIGTERM: %v", err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Errorf("did not end within %s of SIGTERM", patience)
		p.kill()
	}
	if p.err != nil {
		p.t.Errorf("want exit code 0 on SIGTERM, got %v", p.err)
	}
}

// kill is SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// ends waits until it has ended by itself.
func (p *process) ends() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		require.FailNow(p.t, "it goes on")
	}
}

func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// address returns the address of a service, from the process's log.
func (p *process) address(what string) (string, error) {
	for line := range strings.Lines(p.log.String()) {
		var entry struct{ Msg, What, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "Serving" && entry.What == what {
			return entry.Address, nil
		}
	}
	return "", fmt.Errorf("it does not serve %s yet", what)
}

// get fails the test if the process has ended: no answer would ever come.
func (p *process) get(what, path string) (code int, body string, err error) {
	if !p.alive() {
		require.FailNow(p.t, "the program has ended", "%v", p.err)
	}
	address, err := p.address(what)
	if err != nil {
		return 0, "", err
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + address + path)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(raw), err
}

func (p *process) ready() error {
	code, body, err := p.get("health", "/readyz")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("/readyz: %d: %s", code, body)
	}
	return err
}

// unready wants /readyz to refuse with each of these texts.
func (p *process) unready(texts ...string) error {
	code, body, err := p.get("health", "/readyz")
	if err == nil && code != http.StatusServiceUnavailable {
		err = fmt.Errorf("/readyz: want 503, got %d", code)
	}
	for _, text := range texts {
		if err == nil && !strings.Contains(body, text) {
			err = fmt.Errorf("/readyz: want %q in it, got %s", text, body)
		}
	}
	return err
}

// said wants a line of the log that has each of these texts.
func (p *process) said(texts ...string) error {
lines:
	for line := range strings.Lines(p.log.String()) {
		for _, text := range texts {
			if !strings.Contains(strings.ReplaceAll(line, `\"`, `"`), text) {
				continue lines
			}
		}
		return nil
	}
	return fmt.Errorf("no line of the log has all of %q", texts)
}

// metric gives the sum of a metric's values over all labels.
func (p *process) metric(name string) (float64, error) {
	_, body, err := p.get("metrics", "/metrics")
	if err != nil {
		return 0, err
	}
	sum, found := 0.0, false
	for line := range strings.Lines(body) {
		if rest, is := strings.CutPrefix(line, name); is && (rest[0] == '{' || rest[0] == ' ') {
			var value float64
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &value); err != nil {
				return 0, err
			}
			sum, found = sum+value, true
		}
	}
	if !found {
		return 0, fmt.Errorf("no metric %s", name)
	}
	return sum, nil
}
