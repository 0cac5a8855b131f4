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
// so far.
type Running struct {
	Stop func()
	Log  func() string
}

// Process starts it from a file.
func Process(file string, args ...string) Program {
	return func(t *testing.T) Running {
		out := &buffer{}
		cmd := exec.Command(file, args...)
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(t, cmd.Start())
		stop := sync.OnceFunc(func() {
			assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			assert.NoError(t, cmd.Wait(), "%s", out)
		})
		t.Cleanup(stop)
		return Running{stop, out.String}
	}
}

// InProcess starts it as a function that runs until its context ends.
func InProcess(run func(ctx context.Context) error) Program {
	return func(t *testing.T) Running {
		out := &buffer{}
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out)))
		ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
		ended := make(chan error, 1)
		go func() { ended <- run(ctx) }()
		stop := sync.OnceFunc(func() {
			cancel()
			assert.NoError(t, <-ended)
		})
		t.Cleanup(stop)
		return Running{stop, out.String}
	}
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
