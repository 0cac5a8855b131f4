package controller

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// story is a controller in virtual time whose reconcile is scripted, and what was seen of it.
type story struct {
	*testing.T
	*Controller[string]
	start   time.Time
	stop    context.CancelFunc // cancels Run's context; see Stop
	ended   chan error         // Run's result
	results *results

	mu     sync.Mutex // guards all below
	calls  []string   // "1s a": when which key was reconciled
	log    bytes.Buffer
	script func(ctx context.Context, key string) (Result, error) // nil succeeds
}

// tell runs a story: f is called with the controller made, but not running.
func tell(t *testing.T, opts Options[string], f func(s *story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &story{T: t, start: time.Now(), ended: make(chan error, 1), results: &results{}}
		opts.Metrics = s.results
		opts.Name = "test"
		s.Controller = New[string](Func[string](s.reconcile), opts)
		f(s)
		if s.stop != nil {
			s.Stop()
		}
	})
}

func (s *story) reconcile(ctx context.Context, key string) (Result, error) {
	s.mu.Lock()
	s.calls = append(s.calls, fmt.Sprintf("%v %s", time.Since(s.start), key))
	script := s.script
	s.mu.Unlock()
	if script == nil {
		return Result{}, nil
	}
	return script(ctx, key)
}

// Write is where the log goes.
func (s *story) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

// Play sets what a reconcile does from now on.
func (s *story) Play(script func(ctx context.Context, key string) (Result, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Fail makes every reconcile return err.
func (s *story) Fail(err error) {
	s.Play(func(context.Context, string) (Result, error) { return Result{}, err })
}

// Start runs the controller in the background.
func (s *story) Start() {
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(s)))
	ctx, cancel := context.WithCancel(klog.NewContext(s.Context(), logger))
	s.stop = cancel
	go func() { s.ended <- s.Controller.Run(ctx) }()
	synctest.Wait()
}

// Stop tells the controller to stop and lets it get as far as it can at once.
func (s *story) Stop() {
	s.stop()
	synctest.Wait()
}

// At lets time pass until the given moment of the story.
func (s *story) At(d time.Duration) {
	<-time.After(time.Until(s.start.Add(d)))
	synctest.Wait()
}

// ExpectCalls says which reconciles were seen since the last call.
func (s *story) ExpectCalls(calls ...string) {
	s.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.Equal(s, calls, s.calls)
	s.calls = nil
}

// ExpectLog says that one line of the log has all the given parts.
func (s *story) ExpectLog(parts ...string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.SplitSeq(s.log.String(), "\n") {
		has := 0
		for _, p := range parts {
			if strings.Contains(line, p) {
				has++
			}
		}
		if has == len(parts) {
			return
		}
	}
	assert.Failf(s, "not logged", "%q in:\n%s", parts, s.log.String())
}

// ExpectRunning says whether Run is still running; if not, it returns Run's error.
func (s *story) ExpectRunning(running bool) error {
	s.Helper()
	synctest.Wait()
	select {
	case err := <-s.ended:
		require.False(s, running, "Run has returned %v", err)
		return err
	default:
		require.True(s, running, "Run has not returned")
		return nil
	}
}
