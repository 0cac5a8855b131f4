// Package realserver lets a test that plays on the API server in memory play on a real one as well, if its caller names one. `make check`
// does; `go test ./...` does not, so that it is the same on every machine.
package realserver

import (
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Variable is the environment variable that names the kubeconfig of an administrator.
const Variable = "GLASSWATCH_REAL_SERVER"

// Run runs a subtest on the real API server, if there is one.
func Run(t *testing.T, name string, test func(t *testing.T, cfg *rest.Config)) {
	t.Helper()
	file := os.Getenv(Variable)
	if file == "" {
		return
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}
	t.Run(name, func(t *testing.T) { test(t, cfg) })
}

// Eventually calls f until it returns nil, for a minute at most. Then it ends the test with the last error. what is for that message.
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
