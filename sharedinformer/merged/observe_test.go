package merged

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"glasswatch/sharedinformer"
)

func TestMerged_ReportsToObserversWhatItsInformerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var steps []sharedinformer.Step
		opts := Options[*config]{}
		opts.Observe = func(o sharedinformer.Observation) {
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, "configs", o.Informer)
			for _, c := range o.Changes {
				if c.Key.Name == "y" {
					steps = append(steps, o.Step)
				}
			}
		}
		s := newMergedStory(t, opts, "a", "b")
		defer s.Stop()
		s.Put("x", "a")
		s.Start()
		s.Put("y", "a", "b")
		s.Settle()
		require.Equal(t, []sharedinformer.Step{sharedinformer.BatchPopped, sharedinformer.BatchStored,
			sharedinformer.HandlerCalled, sharedinformer.HandlerReturned}, steps)
	})
}
