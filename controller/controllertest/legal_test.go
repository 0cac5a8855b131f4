package controllertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

func TestTimings_AreThoseThatNeedNoFault(t *testing.T) {
	act := Do("act", func(context.Context, *rest.Config) error { return nil })
	require.Empty(t, otherTimings([]Step{act, Settle(), act, Settle()}))
	names := func(steps ...Step) (all []string) {
		for _, at := range otherTimings(steps) {
			all = append(all, at.String())
		}
		return all
	}
	require.Equal(t, []string{"step 3 comes when all has settled", "the program starts again after step 3"}, names(act, Wait(time.Second), act))
	require.Equal(t, []string{
		"step 3 comes when all has settled",
		// It would be sent away before step 2, in the middle of what step 1 made it do: "the program starts again after step 3".
		"step 2 comes when all has settled",
		"step 2 comes when all has settled, step 3 comes when all has settled",
		"step 2 comes when all has settled, the program starts again after step 3",
		"the program starts again after step 2",
		"the program starts again after step 2, step 3 comes when all has settled",
		"the program starts again after step 2, the program starts again after step 3",
	}, names(act, act, act))
	require.Len(t, otherTimings([]Step{act, act, act, act, act, act}), 5+1+1+1, "each one later, all later, away at the first, at all")
}

func TestTimings_TheProgramStaysAwayOverTwoSteps(t *testing.T) {
	after := map[int]int{1: 0, 2: 1, 4: 2}
	leaves, comes := timings{1: whileAway, 2: whileAway, 4: afterSettling}.awayFrom(after)
	require.Equal(t, map[int]bool{0: true}, leaves)
	require.Equal(t, map[int]bool{2: true}, comes)
}
