// Command cloudmanager is the operator for CloudManagers: a front, an identity service and a database, in this order.
//
// Reading order: api/v1 and desired say what is asked for; reconcile.go says how it comes about; children.go writes one
// kind of children; reconciler.go puts the layers together. What is the same in other operators is in
// cmd/internal/operator.
package main

import (
	"context"
	"io"
	"os"
	"slices"

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
	operator.Main("cloudmanager", func(ctx context.Context, args []string, out io.Writer) error {
		return operator.Command(ctx, args, out, "Brings CloudManagers about, in order.", program())
	})
}

func program() operator.Program {
	start := func(cfg *rest.Config, p operator.Parts) (operator.Controller, error) { return newReconciler(cfg, p) }
	return operator.Program{Name: "cloudmanager", Version: version, New: start}
}
