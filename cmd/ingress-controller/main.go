// Command ingress-controller creates an Ingress for every Service that asks for one, and keeps it in the desired state.
// With --demo it plays every rule against an API server of its own. With --embedded it runs an API server that kubectl
// can use.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

// version is set by the linker: see deploy/Dockerfile.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ingress-controller:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parse(args, out)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if o.version {
		_, err = fmt.Fprintln(out, version)
		return err
	}
	stop, err := o.log.Start(os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	switch {
	case o.demo:
		return runDemo(ctx, o, out)
	case o.embedded:
		return runEmbedded(ctx, o, out)
	default:
		return runOnCluster(ctx, o)
	}
}
