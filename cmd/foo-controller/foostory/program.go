package foostory

import (
	"bytes"
	"context"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// Program starts a sample-controller with two workers.
type Program func(t *testing.T) Running

// Running is one that runs. Stop ends it as SIGTERM does, and waits; it may be called again. Log is what it has logged
// so far. Ended is true once it has ended by itself.
type Running struct {
	Stop  func()
	Log   func() string
	Ended func() bool
}

// Process starts it from a file.
func Process(file string, args ...string) Program {
	return func(t *testing.T) Running {
		out := &buffer{}
		cmd := exec.Command(file, args...)
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(t, cmd.Start())
		terminate := func() {
			_ = cmd.Process.Signal(syscall.SIGTERM) // fails if it has just ended; then its exit code tells
		}
		return newRunning(t, out, terminate, cmd.Wait)
	}
}

// InProcess starts it as a function that runs until its context ends.
func InProcess(run func(ctx context.Context) error) Program {
	return func(t *testing.T) Running {
		out := &buffer{}
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out)))
		ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
		return newRunning(t, out, cancel, func() error { return run(ctx) })
	}
}

// newRunning is a program that wait waits for. terminate asks it to end, which it must do without an error.
func newRunning(t *testing.T, out *buffer, terminate func(), wait func() error) Running {
	var err error
	ended, stopped := make(chan struct{}), false
	go func() {
		defer close(ended)
		err = wait()
	}()
	hasEnded := func() bool {
		select {
		case <-ended:
			return !stopped
		default:
			return false
		}
	}
	stop := sync.OnceFunc(func() {
		if hasEnded() {
			assert.Fail(t, "the program has ended by itself", "%v", err)
			return
		}
		stopped = true
		terminate()
		<-ended
		assert.NoError(t, err)
	})
	t.Cleanup(stop)
	return Running{stop, out.String, hasEnded}
}

// buffer is a log that is read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
