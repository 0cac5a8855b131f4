package controlplane

import (
	"testing"
	"time"
)

// Eventually calls f until it returns nil, for a minute at most. Then it ends the test with the last error. what is for
// that message.
func Eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: not within a minute: %v", what, err)
		case <-tick.C:
		}
	}
}
