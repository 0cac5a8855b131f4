package controlplane

import (
	"testing"

	"glasswatch/internal/realserver"
)

// Eventually calls f until it returns nil, for a minute at most. Then it ends the test with the last error. what is for
// that message.
func Eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	realserver.Eventually(t, what, f)
}
