// Command foo-controller is the sample controller of Kubernetes on the layers of this repository: each Foo gets a
// Deployment, and the Foo's status follows that of the Deployment. With --demo it shows it on an API server of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/demo"
	"glasswatch/cmd/internal/operator"
)

// version is set by the linker: see deploy/Dockerfile.
var version = "dev"

func main() {
	if slices.Contains(os.Args[1:], "--demo") {
		demo.Main(story) // with flags of its own
	}
	operator.Main("foo-controller", run)
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	var f operator.Flags
	fs := pflag.NewFlagSet("foo-controller", pflag.ContinueOnError)
	fs.SetOutput(out)
	fs.SortFlags = false
	fs.Usage = func() {
		fmt.Fprintf(out, "Gives every Foo its Deployment.\n\n%s", fs.FlagUsages())
	}
	fs.Bool("demo", false, "show it on an API server in this process, and end; --demo --help lists its flags")
	resync := fs.Duration("resync", 30*time.Second, "how often every Foo is synced again; 0 is never")
	printVersion := fs.Bool("version", false, "print the version, and exit")
	f.AddTo(fs)
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	case err != nil:
		return err
	case *printVersion:
		_, err = fmt.Fprintln(out, version)
		return err
	case *resync < 0:
		return fmt.Errorf("--resync: want 0 or more, got %s", *resync)
	}
	if err := f.Validate(fs); err != nil {
		return err
	}
	stop, err := f.Log.Start(os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return operator.Run(ctx, nil, &f, operator.Program{Name: "foo-controller", Version: version,
		New: func(cfg *rest.Config, p operator.Parts) (operator.Controller, error) {
			return New(cfg, Options{Namespace: p.Namespace, Workers: p.Workers, Resync: *resync,
				Registerer: p.Registerer, MayWrite: p.MayWrite})
		}})
}
