package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/logging"
)

// global are the flags of all commands.
type global struct {
	kubeconfig, context, namespace string
	log                            logging.Flags
	stopLog                        func() error // of no effect before the log was started
	connect                        connector    // nil: fromKubeconfig. The demo has its own, and its own log
}

// newRoot is called kubectl, as in its messages.
func newRoot(g *global) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl",
		Short: "kubectl controls the Kubernetes cluster manager.",
		Long: `kubectl controls the Kubernetes cluster manager.

This is kubectl-lite: apply and delete, on the layers of glasswatch. kubectl-lite --demo plays both without a cluster.`,
		SilenceErrors: true, // run prints them
		SilenceUsage:  true, // after an error, the help would hide it
	}
	if g.connect == nil {
		g.connect = g.fromKubeconfig
		root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return g.startLog(cmd) }
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true}) // "help" is no command here; -h and --help are
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		//lint:ignore ST1005 kubectl's words
		return fmt.Errorf("%w\nSee '%s --help' for usage.", err, cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVar(&g.kubeconfig, "kubeconfig", "", "path of a kubeconfig; without it $KUBECONFIG, else the Pod's service account")
	flags.StringVar(&g.context, "context", "", "context of the kubeconfig; without it the current one")
	flags.StringVarP(&g.namespace, "namespace", "n", "", "namespace of objects that name none; those that name another are refused")
	g.log.AddTo(flags)
	root.AddCommand(newApply(g), newDelete(g))
	return root
}

// startLog logs only on demand: without -v and its like, stderr is for errors and the server's warnings.
func (g *global) startLog(cmd *cobra.Command) error {
	stop, err := g.log.Start(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if !g.log.Asked() {
		klog.SetLoggerWithOptions(logr.Discard(), klog.ContextualLogger(true))
	}
	g.stopLog = stop
	return nil
}

// common is what both commands have.
type common struct {
	files                    []string
	recursive                bool
	selector, dryRun, output string
	dryRunOption             []string // for the options of requests
	suffix                   string   // follows what would have been done
	out, err                 io.Writer
}

// runs makes a command of what it checks before it connects, and of what it does then.
func (c *common) runs(g *global, check func(*cobra.Command) error, do func(context.Context, *connection) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if err := cmp.Or(check(cmd), c.validate()); err != nil {
			return err
		}
		c.out, c.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
		connection, err := g.open(c.err)
		if err != nil {
			return err
		}
		return do(cmd.Context(), connection)
	}
}

func (c *common) addTo(cmd *cobra.Command, what string) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVarP(&c.files, "filename", "f", nil, "files, folders or, with -, standard input "+what)
	flags.BoolVarP(&c.recursive, "recursive", "R", false, "go into the folders of a folder, too")
	flags.StringVarP(&c.selector, "selector", "l", "", "take only the objects whose labels match, such as app=web")
	flags.StringVar(&c.dryRun, "dry-run", "none", "none, or server: the server does all but keep the result")
	flags.StringVarP(&c.output, "output", "o", "", "name: print resource/name only")
	if err := cmd.MarkFlagRequired("filename"); err != nil {
		panic(err) // there is no such flag
	}
}

func (c *common) validate() error {
	switch c.dryRun {
	case "none":
		return nil
	case "server":
		c.dryRunOption, c.suffix = []string{metav1.DryRunAll}, " (server dry run)"
		return nil
	case "client":
		return errors.New("--dry-run=client is not supported (did you mean --dry-run=server instead?)")
	}
	return fmt.Errorf("invalid dry-run value (%s), must be %q or %q", c.dryRun, "none", "server")
}
