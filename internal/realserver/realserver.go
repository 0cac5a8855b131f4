// Package realserver lets a test that plays on the API server in memory play on a real one as well, if its caller names one. `make check`
// does; `go test ./...` does not, so that it is the same on every machine.
package realserver

import (
	"context"
	"net"
	"os"
	"sync"
	"testing"

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
	open := connections{}
	cfg.Dial = open.dial
	t.Run(name, func(t *testing.T) { test(t, cfg) })
	open.close() // the server outlives the test, and clients leave idle connections
}

// connections are those that were dialled.
type connections struct {
	mu  sync.Mutex
	all []net.Conn // protected by mu
}

func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, conn)
	}
	return conn, err
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.all {
		_ = conn.Close() // most are closed already
	}
}
