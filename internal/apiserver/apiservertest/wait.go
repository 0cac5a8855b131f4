package apiservertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is how long Eventually waits. The machine may be busy, so it is far more than any step takes.
const Patience = 3 * time.Minute

// Eventually calls f until it returns nil. After Patience it ends the test, with the last error. what is for that message.
func Eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	err := Within(context.Background(), Patience, f)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Within is Eventually outside of a test's goroutine, or with a limit of its own. It returns the last error of f, or that of ctx.
func Within(ctx context.Context, limit time.Duration, f func() error) error {
	began, deadline := time.Now(), time.After(limit)
	for {
		err := f()
		if err == nil {
			return nil
		}
		// Rarely after a long wait: many that wait must not keep the machine busy with their questions.
		pause := max(20*time.Millisecond, time.Since(began)/20)
		select {
		case <-time.After(pause):
		case <-deadline:
			return fmt.Errorf("not within %s: %w", limit, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Go lets something run until the test ends, and wants that it ends well. stop ends it earlier, and waits for that.
func Go(t testing.TB, run func(ctx context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(stop)
	return stop
}

// Pass lets virtual time go by, and then waits until all goroutines of the bubble are blocked.
func Pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
