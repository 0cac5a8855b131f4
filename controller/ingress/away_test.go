package ingress

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/controller/ingress/ingresstest"
)

func TestController_MakesRightWhatHappenedWhileItWasAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		world, cfg, served := ingresstest.Serve(ctx, t)
		play := func(moves ...ingresstest.Move) {
			for _, m := range moves {
				require.NoError(t, world.Play(ctx, m))
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

		play(ingresstest.Move{Kind: "create", Name: "a"}, ingresstest.Move{Kind: "create", Name: "b"}, ingresstest.Move{Kind: "create", Name: "c"})
		require.Error(t, world.Check(ctx), "nobody has worked yet")
		work()
		require.NoError(t, world.Check(ctx))

		play(
			ingresstest.Move{Kind: "delete ingress", Name: "a"},
			ingresstest.Move{Kind: "edit ingress", Name: "b"},
			ingresstest.Move{Kind: "annotate", Name: "c", Value: 1}, // "false"
		)
		require.Error(t, world.Check(ctx), "nobody is there to make it right")
		work()
		require.NoError(t, world.Check(ctx))

		cancel()
		require.NoError(t, <-served)
	})
}
