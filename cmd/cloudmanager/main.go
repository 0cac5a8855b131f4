// Command cloudmanager is the operator for CloudManagers: a front, an identity service and a database, started in this
// order. With --demo it plays its rules.
//
// Reading order: api/v1 and desired say what is asked for; reconcile.go says how it comes about; reconciler.go and
// child.go are the layers below: informers, indices, the queue and the writes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/demo"
	"glasswatch/cmd/internal/operator"
)

// version is set by the linker: see deploy/Dockerfile.
var version = "dev"

func main() {
	if slices.Contains(os.Args[1:], "--demo") {
		demo.Main(story)
	}
	operator.Main("cloudmanager", run)
}

func newProgram() operator.Program {
	return operator.Program{Name: "cloudmanager", Version: version, New: func(cfg *rest.Config, p operator.Parts) (operator.Controller, error) {
		return newReconciler(cfg, p)
	}}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	var o operator.Flags
	fs := pflag.NewFlagSet("cloudmanager", pflag.ContinueOnError)
	fs.SetOutput(out)
	fs.SortFlags = false
	fs.Usage = func() {
		fmt.Fprintf(out, "Brings CloudManagers about: front, identity, database, in this order.\n\n%s", fs.FlagUsages())
	}
	fs.BoolFunc("demo", "play the rules against an API server in this process, and exit with 0 if all held",
		func(string) error { return errors.New("it takes no value") })
	asked := fs.Bool("version", false, "print the version, and exit")
	o.AddTo(fs)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return err
	}
	if *asked {
		_, err = fmt.Fprintln(out, version)
		return err
	}
	if err := o.Validate(fs); err != nil {
		return err
	}
	stop, err := o.Log.Start(os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return operator.Run(ctx, nil, &o, newProgram())
}
