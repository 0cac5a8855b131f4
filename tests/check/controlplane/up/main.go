// Command up runs a real control plane till Ctrl-C, and prints how kubectl gets to it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"glasswatch/tests/check/controlplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	p, err := controlplane.Launch(controlplane.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	fmt.Printf("etcd, kube-apiserver and the garbage collector run till you press Ctrl-C.\n\n")
	fmt.Printf("  export KUBECONFIG=%s\n\n", p.Kubeconfig(controlplane.Admin))
	fmt.Printf("The ingress controller's own identity, and one without rights:\n\n  %s\n  %s\n",
		p.Kubeconfig(controlplane.Controller), p.Kubeconfig(controlplane.Stranger))
	select {
	case <-ctx.Done():
		return nil
	case <-p.Done():
		return fmt.Errorf("the control plane has ended by itself:\n%s", p.Log())
	}
}
