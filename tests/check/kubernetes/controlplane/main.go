// Command controlplane is a Kubernetes control plane in one process: etcd, the upstream kube-apiserver, and the upstream
// controllers that collect garbage and empty terminating namespaces.
//
//	controlplane --dir D --ports 6443,2379,2380                          everything, till stopped
//	controlplane --dir D --ports 6443,2379,2380 --components etcd
//	controlplane --dir D --ports 6443,2379,2380 --components apiserver,controllers
//	controlplane --dir D --ports 6443,2379,2380 --feature-gates ShardedListAndWatch=true
//
// The ports are the API server's, etcd's for its clients and etcd's for its peers. Tokens and kubeconfigs stand in the
// directory. So a killed process that is started with the same directory and ports continues the same cluster. The one
// line on standard output means that it is ready, and names the directory.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

const (
	etcdComponent        = "etcd"
	apiserverComponent   = "apiserver"
	controllersComponent = "controllers"
)

type options struct {
	dir        string
	ports      []int
	components []string
	stdin      bool
	remove     bool
	gates      string
}

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	command := app.NewAPIServerCommand() // it makes the one context that ends with a signal
	ctx := command.Context()
	if o.stdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			genericapiserver.RequestShutdown()
		}()
	}
	if o.remove {
		defer func() {
			if err == nil { // what went wrong can be read there
				err = os.RemoveAll(o.dir)
			}
		}()
	}
	c, err := openCluster(o.dir, o.ports)
	if err != nil {
		return err
	}
	command.SetArgs(c.apiserverFlags(o.gates))
	return runComponents(ctx, c, o.components, command)
}

func parse(args []string) (o options, err error) {
	fs := pflag.NewFlagSet("controlplane", pflag.ContinueOnError)
	fs.StringVar(&o.dir, "dir", "", "where the cluster's state is kept")
	fs.IntSliceVar(&o.ports, "ports", nil, "of the API server, of etcd for its clients, and of etcd for its peers, on 127.0.0.1")
	fs.StringSliceVar(&o.components, "components", []string{etcdComponent, apiserverComponent, controllersComponent}, "what to run in this process")
	fs.BoolVar(&o.stdin, "stop-with-stdin", false, "stop when standard input is closed, so that nothing outlives whoever started it")
	fs.BoolVar(&o.remove, "remove-dir", false, "remove the directory when asked to stop")
	fs.StringVar(&o.gates, "feature-gates", "", "the API server's --feature-gates; empty are its defaults")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	for _, name := range o.components {
		if !slices.Contains([]string{etcdComponent, apiserverComponent, controllersComponent}, name) {
			return o, fmt.Errorf("--components: want %s, %s or %s, got %q", etcdComponent, apiserverComponent, controllersComponent, name)
		}
	}
	if o.dir == "" {
		return o, errors.New("--dir: want a directory, got none")
	}
	if len(o.ports) != 3 {
		return o, fmt.Errorf("--ports: want three, got %v", o.ports)
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("want flags only, got %q", fs.Arg(0))
	}
	return o, nil
}

// runComponents starts them in the order of their dependencies, and stops them in the reverse order.
func runComponents(ctx context.Context, c *cluster, names []string, apiserver *cobra.Command) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if slices.Contains(names, etcdComponent) {
		stop, err := startEtcd(ctx, c)
		if err != nil {
			return fmt.Errorf("etcd: %w", err)
		}
		defer stop()
	}
	served := make(chan error, 1)
	if slices.Contains(names, apiserverComponent) {
		go func() { served <- serveAPI(apiserver) }()
		if err := c.waitReady(ctx, served); err != nil {
			return fmt.Errorf("kube-apiserver: %w", err)
		}
	}
	if slices.Contains(names, controllersComponent) {
		stop, err := startControllers(ctx, c)
		if err != nil {
			return fmt.Errorf("controllers: %w", err)
		}
		defer stop()
	}
	fmt.Printf("ready %s\n", c.dir)
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	if slices.Contains(names, apiserverComponent) {
		return <-served
	}
	return nil
}
