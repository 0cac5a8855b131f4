package suite

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/realserver"
)

// Implementation is an operator for CloudManagers.
type Implementation struct {
	// Start runs the operator for one namespace against the API server of cfg until ctx ends. It returns when all its
	// goroutines have ended; the error is nil if ctx ended it.
	Start func(ctx context.Context, cfg *rest.Config, namespace string) error
	// RealTime says that its goroutines cannot live in a bubble of testing/synctest. Then nothing is in virtual time.
	RealTime bool
}

type play struct {
	name string
	tell func(w *world)
}

// Run runs all cases in memory, and on a real API server if there is one.
func Run(t *testing.T, impl Implementation) {
	cases := [][]play{creation, changes, drift, foreign, ends, faults, spec, stale}
	run := func(t *testing.T, run func(t *testing.T, p play)) {
		for _, group := range cases {
			for _, p := range group {
				t.Run(p.name, func(t *testing.T) { run(t, p) })
			}
		}
	}
	t.Run("memory", func(t *testing.T) {
		run(t, func(t *testing.T, p play) {
			if impl.RealTime {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				p.tell(newWorld(t, impl, serve(t, listener)))
				return
			}
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, impl, serve(t, apiserver.NewPipeListener()))
				w.virtual, w.latency = true, time.Millisecond
				p.tell(w)
			})
		})
	})
	realserver.Run(t, "real", func(t *testing.T, cfg *rest.Config) {
		run(t, func(t *testing.T, p play) { p.tell(newWorld(t, impl, rest.CopyConfig(cfg))) })
	})
}

func serve(t *testing.T, listener net.Listener) *rest.Config {
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- apiserver.New(apiserver.Options{}).Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	return apiserver.RESTConfigFor(listener)
}
