package ingress

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestController_MakesRightWhatHappenedWhileItWasAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		world, cfg, served := serveWorld(ctx, t)
		play := func(moves ...move) {
			for _, m := range moves {
				require.NoError(t, world.play(ctx, m))
			}
		}
		// A controller that starts learns of no missed event: it looks at the present state.
		work := func() {
			c, err := New(cfg, Options{Config: testConfig, Workers: 2})
			require.NoError(t, err)
			working, stop := context.WithCancel(ctx)
			ran := make(chan error, 1)
			go func() { ran <- c.Run(working) }()
			<-time.After(time.Minute)
			stop()
			require.NoError(t, <-ran)
		}

		play(move{Kind: "create", Name: "a"}, move{Kind: "create", Name: "b"}, move{Kind: "create", Name: "c"})
		require.Error(t, world.check(ctx), "nobody has worked yet")
		work()
		require.NoError(t, world.check(ctx))

		play(
			move{Kind: "delete ingress", Name: "a"},
			move{Kind: "edit ingress", Name: "b"},
			move{Kind: "annotate", Name: "c", Value: 1}, // "false"
		)
		require.Error(t, world.check(ctx), "nobody is there to make it right")
		work()
		require.NoError(t, world.check(ctx))

		cancel()
		require.NoError(t, <-served)
	})
}
