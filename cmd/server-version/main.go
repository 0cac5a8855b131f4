// Command server-version prints the version of the API server of the cluster that it runs in. It is for a Pod:
// deploy/version. It needs no rights but those that every authenticated client has.
//
//	KUBERNETES_SERVICE_HOST, _PORT ─────────────────────────┐
//	/var/run/secrets/kubernetes.io/serviceaccount/{token,   ├─▶ rest.InClusterConfig ─▶ discovery ─▶ GET /version
//	                                               ca.crt} ─┘
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// patience is how long the server has to answer.
const patience = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "server-version:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	cfg, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return fmt.Errorf("%w; this program is for a Pod: kubectl apply -k deploy/version", err)
	}
	if err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	version, err := client.ServerVersionWithContext(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", cfg.Host, err)
	}
	fmt.Fprintf(out, "%s is Kubernetes %s for %s\n", cfg.Host, version.GitVersion, version.Platform)
	return nil
}
