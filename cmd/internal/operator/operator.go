package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Program is a controller with its name.
type Program struct {
	Name    string // the source of the election's Events
	Version string // only logged
	// Flags adds flags of the program's own for [Command]; nil is none. What it returns is called after the parsing.
	Flags func(fs *pflag.FlagSet) (validate func() error)
	// New makes the controller. cfg is its own to change, and no other client uses it.
	New func(cfg *rest.Config, p Parts) (Controller, error)
}

// Controller is what a program runs.
type Controller interface {
	// Run works until ctx ends, and returns when its goroutines have ended.
	Run(ctx context.Context) error
	// Ready returns nil while the caches are filled and follow the cluster, whether or not this replica may write.
	Ready() error
}

// Parts are what a controller gets from its program.
type Parts struct {
	Namespace  string // "" is all
	Workers    int
	Registerer prometheus.Registerer
	// MayWrite is closed once this replica may write. It is nil if there is no election: then it may at once.
	MayWrite <-chan struct{}
	// Serve answers on one more address from now on until the program ends; "" is none.
	Serve func(what, address string, handler http.Handler) error
}

// Main calls run with the command line, and ends the program with its exit code. The context ends at the first signal.
func Main(name string, run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Run runs the program's controller until ctx ends, or the lease is lost. A nil cfg is the cluster that the flags name;
// otherwise it is that of a server in this process.
func Run(ctx context.Context, cfg *rest.Config, f *Flags, p Program) (err error) {
	source := "the in-process API server"
	if cfg == nil {
		if cfg, source, err = f.Cluster.Config(); err != nil {
			return err
		}
		f.Election.decide(ctx, podNamespaceFile)
	}
	if err := introduce(ctx, cfg, source, p.Version); err != nil {
		return err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = 50, 100
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	parts := Parts{Namespace: f.Namespace, Workers: f.Workers, Registerer: registry}
	var e *election // nil: there is no leader
	if f.Election.Enabled {
		if e, err = newElection(cfg, f, p.Name); err != nil {
			return err
		}
		registry.MustRegister(leadership.leader, leadership.slowpath)
		parts.MayWrite = e.won
	}
	serving, stopServing := context.WithCancel(ctx)
	var stopped []<-chan struct{}
	defer func() {
		stopServing()
		if errors.Is(err, errLost) {
			return // at once
		}
		for _, done := range stopped {
			<-done
		}
		klog.FromContext(ctx).Info("Stopped")
	}()
	parts.Serve = func(what, address string, handler http.Handler) error {
		done, err := serve(serving, what, address, handler)
		if err == nil {
			stopped = append(stopped, done)
		}
		return err
	}
	c, err := p.New(cfg, parts) // after the election has made its clients: a wrapped cfg sees no leases
	if err != nil {
		return err
	}
	ready := func() error { return errors.Join(c.Ready(), e.ready()) }
	err = errors.Join(parts.Serve("metrics", f.MetricsAddr, metricsHandler(registry)),
		parts.Serve("health", f.HealthAddr, healthHandler(e.alive, ready)))
	if err != nil {
		return err
	}
	return e.run(ctx, c.Ready, c.Run)
}
