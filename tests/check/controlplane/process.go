package controlplane

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	startLimit = 3 * time.Minute // two cores may be busy with other tests
	stopLimit  = 30 * time.Second
)

// process ends when its standard input is closed, so that it does not outlive the test's process either.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when it has ended; err is set before
	err   error
}

// launch returns when the program has printed that it is ready.
func launch(log *os.File, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), ended: make(chan struct{})}
	p.cmd.Stderr = log
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "ready ") {
				close(ready)
				break
			}
		}
		_, _ = io.Copy(io.Discard, stdout)
		p.err = p.cmd.Wait()
	}()
	select {
	case <-ready:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("ended before it was ready: %w", p.err)
	case <-time.After(startLimit):
		p.kill()
		return nil, fmt.Errorf("not ready after %s", startLimit)
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// mustHaveEnded panics if it runs: another on the same port would share its connections. A nil process has ended.
func (p *process) mustHaveEnded(name string) {
	if p == nil {
		return
	}
	select {
	case <-p.ended:
	default:
		panic(name + " runs already")
	}
}

// stop asks the process to end, and kills it if it does not. A nil process, and one that has ended, are stopped.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	select {
	case <-p.ended:
		return nil
	default:
	}
	if err := p.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	select {
	case <-p.ended:
		return p.err
	case <-time.After(stopLimit):
		p.kill()
		return fmt.Errorf("did not end within %s", stopLimit)
	}
}
