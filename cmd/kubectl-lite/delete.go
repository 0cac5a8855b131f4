package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
)

// forever is how long a delete waits by default, as kubectl does.
const forever = 7 * 24 * time.Hour

type deleteOptions struct {
	common
	ignoreNotFound, wait bool
	timeout              time.Duration
}

func newDelete(g *global) *cobra.Command {
	o := &deleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete -f FILENAME",
		Short: "Delete the objects that the files name",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return errors.New("when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well")
		},
	}
	cmd.RunE = o.runs(g, o.check, o.run)
	o.addTo(cmd, "with the objects to delete")
	cmd.Flags().BoolVar(&o.ignoreNotFound, "ignore-not-found", false, "an object that is not there is no error")
	cmd.Flags().BoolVar(&o.wait, "wait", true, "return when the objects are gone: finalizers may take their time")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "how long to wait; 0 is a week")
	return cmd
}

func (o *deleteOptions) check(cmd *cobra.Command) error {
	if o.selector != "" && !cmd.Flags().Changed("ignore-not-found") {
		o.ignoreNotFound = true // whoever selects asks for what there is
	}
	if o.output != "" && o.output != "name" {
		return fmt.Errorf("unexpected -o output mode: %s. We only support '-o name'", o.output)
	}
	return nil
}

// run deletes all that can be read. It waits if there was no error.
func (o *deleteOptions) run(ctx context.Context, c *connection) error {
	result := c.documents(&o.common, nil)
	if err := result.Err(); err != nil {
		return err
	}
	if o.ignoreNotFound {
		result.IgnoreErrors(apierrors.IsNotFound)
	}
	found, warned := 0, false
	var deleted []*resource.Info
	err := result.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		found++
		if c.enforced && !info.Namespaced() && !warned {
			warned = true
			fmt.Fprintln(o.err, "Warning: deleting cluster-scoped resources, not scoped to the provided namespace")
		}
		if err := o.delete(ctx, c, info); err != nil {
			return err
		}
		deleted = append(deleted, info)
		return nil
	})
	if err != nil {
		return err
	}
	if found == 0 {
		fmt.Fprintln(o.out, "No resources found")
		return nil
	}
	if !o.wait || o.dryRun == "server" {
		return nil
	}
	return o.waitFor(ctx, c, deleted)
}

func (o *deleteOptions) delete(ctx context.Context, c *connection, info *resource.Info) error {
	if info.Name == "" {
		return sourced("deleting", info.Source, errors.New("resource name may not be empty"))
	}
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background, DryRun: o.dryRunOption}
	if err := c.client(info).Delete(ctx, info.Name, options); err != nil {
		return sourced("deleting", info.Source, err)
	}
	if o.output == "name" {
		fmt.Fprintf(o.out, "%s/%s\n", lowerKind(info), info.Name)
		return nil
	}
	from := ""
	if info.Namespaced() {
		from = " from " + info.Namespace + " namespace"
	}
	fmt.Fprintf(o.out, "%s %q deleted%s%s\n", lowerKind(info), info.Name, from, o.suffix)
	return nil
}

// waitFor waits for one object after the other; meanwhile the others go as well.
func (o *deleteOptions) waitFor(ctx context.Context, c *connection, deleted []*resource.Info) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.timeout, forever))
	defer cancel()
	for _, info := range deleted {
		switch err := c.waitUntilGone(ctx, info); {
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("timed out waiting for the condition on %s/%s", info.Mapping.Resource.Resource, info.Name)
		case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
			continue // it was deleted; who may not look cannot wait for it
		case err != nil:
			return err
		}
	}
	return nil
}
