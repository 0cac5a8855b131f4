package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
)

// fieldManager is who owns the fields that are applied.
const fieldManager = "kubectl-lite"

type applyOptions struct {
	common
	force, prune bool
}

func newApply(g *global) *cobra.Command {
	o := &applyOptions{}
	cmd := &cobra.Command{
		Use:   "apply -f FILENAME",
		Short: "Make the objects on the server as the files say, by server-side apply",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			//lint:ignore ST1005 kubectl's words
			return fmt.Errorf("Unexpected args: %v\nSee '%s -h' for help and examples", args, cmd.CommandPath())
		},
	}
	cmd.RunE = o.runs(g, o.check, o.run)
	o.addTo(cmd, "with the objects to apply")
	cmd.Flags().BoolVar(&o.force, "force-conflicts", false, "take fields over that other managers own")
	cmd.Flags().BoolVar(&o.prune, "prune", false, "refused")
	return cmd
}

func (o *applyOptions) check(*cobra.Command) error {
	if o.prune {
		return errors.New("--prune is not supported: it would delete whatever matches and is in no file, with no list of " +
			"what had been applied before. Delete by name: kubectl-lite delete -f")
	}
	if o.output != "" && o.output != "name" {
		return fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: name", o.output)
	}
	return nil
}

// run applies all that can be read, and returns all errors.
func (o *applyOptions) run(ctx context.Context, c *connection) error {
	var errs []error
	infos, err := c.documents(&o.common, kindRequired{}).Infos()
	if err != nil {
		errs = append(errs, err)
	}
	if len(infos) == 0 && len(errs) == 0 {
		return errors.New("no objects passed to apply")
	}
	for _, info := range infos {
		if err := o.apply(ctx, c, info); err != nil {
			errs = append(errs, err)
		}
	}
	return joined(errs)
}

// apply sends one object. The server merges: fields of other managers stay, fields that were applied before and are no
// longer in the file go.
func (o *applyOptions) apply(ctx context.Context, c *connection, info *resource.Info) error {
	if err := requireName(info); err != nil {
		return err
	}
	data, err := runtime.Encode(unstructured.UnstructuredJSONScheme, info.Object)
	if err != nil {
		return sourced("serverside-apply", info.Source, err)
	}
	client := c.client(info)
	before, readErr := client.Get(ctx, info.Name, metav1.GetOptions{})
	after, err := client.Patch(ctx, info.Name, types.ApplyPatchType, data, metav1.PatchOptions{
		FieldManager: fieldManager, Force: &o.force, DryRun: o.dryRunOption,
		FieldValidation: metav1.FieldValidationStrict, // an unknown field is an error and not dropped
	})
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%w\n%s", err, conflictAdvice)
	}
	if err != nil {
		return err
	}
	if after.GetDeletionTimestamp() != nil {
		fmt.Fprintf(o.err, "Warning: Detected changes to resource %s which is currently being deleted.\n", after.GetName())
	}
	if o.output == "name" {
		fmt.Fprintf(o.out, "%s/%s\n", lowerKind(info), info.Name)
		return nil
	}
	fmt.Fprintf(o.out, "%s/%s %s%s\n", lowerKind(info), info.Name, outcome(before, readErr, after), o.suffix)
	return nil
}

func requireName(info *resource.Info) error {
	if info.Name != "" {
		return nil
	}
	if object, ok := info.Object.(metav1.Object); ok && object.GetGenerateName() != "" {
		return fmt.Errorf("from %s: cannot use generate name with apply", object.GetGenerateName())
	}
	return errors.New("resource name may not be empty")
}

// outcome tells what a request did by the object before and after it. The answer alone does not tell configured from
// unchanged. Another client's write in between counts as ours.
func outcome(before *unstructured.Unstructured, readErr error, after *unstructured.Unstructured) string {
	switch {
	case apierrors.IsNotFound(readErr), readErr == nil && before.GetUID() != after.GetUID():
		return "created"
	case readErr != nil: // may write, and not read
		return "serverside-applied"
	}
	// A dry run may not set the version. Managed fields are compared, too: to own one more is a change.
	before.SetResourceVersion(after.GetResourceVersion())
	if reflect.DeepEqual(before.Object, after.Object) {
		return "unchanged"
	}
	return "configured"
}
