package apiservertest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is how long Eventually waits. The machine may be busy, so it is far more than any step takes.
const Patience = time.Minute

// Eventually calls f until it returns nil. After Patience it ends the test, with the last error. what is for that message.
func Eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	deadline := time.After(Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: not within %s: %v", what, Patience, err)
		case <-tick.C:
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
