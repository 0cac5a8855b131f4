package merged

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"glasswatch/observe"
)

func TestMerged_ReportsToObserversWhatItsInformerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var steps []observe.Step
		opts := Options[*config]{}
		opts.Observe = func(seen []observe.Observation[key]) {
			mu.Lock()
			defer mu.Unlock()
			for _, o := range seen {
				require.Equal(t, "configs", o.From)
				if o.Key.Name == "y" {
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
		require.Equal(t, []observe.Step{observe.Popped, observe.Stored, observe.Called, observe.Returned}, steps)
	})
}
