package main

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/foo-controller/foostory"
	"glasswatch/cmd/internal/cluster"
	"glasswatch/cmd/internal/operator"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/realserver"
)

// ours runs this program's controller as the Deployment of deploy/ does, but with upstream's two workers.
func ours(cfg *rest.Config) foostory.Program {
	return foostory.InProcess(func(ctx context.Context) error {
		c, err := New(cfg, operator.Parts{Workers: 2}, 0)
		if err != nil {
			return err
		}
		return c.Run(ctx)
	})
}

func TestStory_IsThatOfUpstreamsSampleController(t *testing.T) {
	t.Run("in process", func(t *testing.T) {
		err := cluster.Embedded(t.Context(), apiserver.New(apiserver.Options{}), "",
			func(_ context.Context, e cluster.Embedding) error {
				got := foostory.Story(t, e.Config, "foo-story", ours(e.Config))
				if flag.Lookup("update").Value.String() == "true" {
					return os.WriteFile("../../cmd/foo-controller/foostory/testdata/story.txt", []byte(got), 0o644)
				}
				require.Equal(t, foostory.Golden, got)
				return nil
			})
		require.NoError(t, err)
	})
	realserver.Run(t, "on a real API server", func(t *testing.T, cfg *rest.Config) {
		require.Equal(t, foostory.Golden, foostory.Story(t, cfg, "foo-story", ours(cfg)))
	})
}
