// Command foo-controller is the sample controller of Kubernetes on the layers of this repository: each Foo gets a
// Deployment, and the Foo's status follows that of the Deployment. With --demo it shows it on an API server of its own.
package main

import (
	"context"
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

func run(ctx context.Context, args []string, out io.Writer) error {
	return operator.Command(ctx, args, out, "Gives every Foo its Deployment.", program())
}

func program() operator.Program {
	var resync time.Duration
	return operator.Program{Name: "foo-controller", Version: version,
		Flags: func(fs *pflag.FlagSet) func() error {
			fs.DurationVar(&resync, "resync", 30*time.Second, "how often every Foo is synced again; 0 is never")
			return func() error {
				if resync < 0 {
					return fmt.Errorf("--resync: want 0 or more, got %s", resync)
				}
				return nil
			}
		},
		New: func(cfg *rest.Config, p operator.Parts) (operator.Controller, error) { return New(cfg, p, resync) }}
}
