package merged

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/sharedinformer"
)

func TestMerged_ResyncsOncePerPeriodHoweverManySources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := Options[*config]{Options: sharedinformer.Options[*config]{ResyncPeriod: time.Minute}}
		s := newMergedStory(t, opts, "a", "b")
		defer s.Stop()
		s.Put("x", "a", "b")
		s.Start()
		s.Expect("add x@2 initial")
		for range 3 {
			s.Pass(time.Minute)
			s.Expect("update x@2→2")
		}
	})
}

func TestMerged_ARelistTellsNothingOfWhatIsAsItWasAndPutsOffNoResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := Options[*config]{Options: sharedinformer.Options[*config]{ResyncPeriod: time.Minute}}
		s := newMergedStory(t, opts, "a")
		defer s.Stop()
		s.Put("x", "a")
		s.Start()
		s.Expect("add x@2 initial")
		s.Pass(50 * time.Second)
		s.views["a"].Relist(func() { s.Put("out of sight", "b") })
		s.Pass(5 * time.Second)
		s.Expect()
		require.EqualValues(t, 2, s.informer.Stats().Reflector.PagedLists)
		s.Pass(5 * time.Second)
		s.Expect("update x@2→2")
	})
}
