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

	"github.com/spf13/pflag"

	"glasswatch/cmd/internal/operator"
)

// version is set by the linker: see deploy/Dockerfile.
var version = "dev"

func main() { operator.Main("ingress-controller", run) }

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
	stop, err := o.Log.Start(os.Stderr)
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
		return runController(ctx, nil, o)
	}
}
