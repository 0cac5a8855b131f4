package controllertest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// away runs a program in a world, and ends both. The program ends at its first start, if so wanted.
func away(t *testing.T, endsAtFirst bool, do func(w *world, starts *atomic.Int32)) {
	synctest.Test(t, func(*testing.T) {
		var starts atomic.Int32
		w := newWorld(&Scenario{Quiet: time.Second, Start: func(ctx context.Context, _ *rest.Config) error {
			if starts.Add(1) == 1 && endsAtFirst {
				return errors.New("not yet")
			}
			<-ctx.Done()
			return nil
		}}, nil, 10)
		w.supervise()
		synctest.Wait()
		do(w, &starts)
		w.stop()
		w.close()
	})
}

func TestAway_ABackoffThatEndsDoesNotStartTheProgram(t *testing.T) {
	away(t, true, func(w *world, starts *atomic.Int32) {
		w.sendAway() // the program has ended, and waits for a second
		time.Sleep(time.Hour)
		require.EqualValues(t, 1, starts.Load())
		w.letBack()
		synctest.Wait()
		require.EqualValues(t, 2, starts.Load())
	})
}

func TestAway_AProgramThatIsSentAwayOnceMoreDoesNotStartBetween(t *testing.T) {
	away(t, false, func(w *world, starts *atomic.Int32) {
		w.sendAway()
		synctest.Wait()
		w.letBack()
		w.sendAway()
		time.Sleep(time.Hour)
		require.EqualValues(t, 1, starts.Load())
		w.letBack()
		synctest.Wait()
		require.EqualValues(t, 2, starts.Load())
	})
}

func TestAway_AStepThatFailsMeanwhileIsTheOnlyProblem(t *testing.T) {
	act := Do("act", func(context.Context, *rest.Config) error { return nil })
	fail := Do("fail", func(context.Context, *rest.Config) error { return errors.New("no luck") })
	s := &Scenario{Quiet: time.Second, Steps: []Step{act, Wait(time.Second), fail}, Start: func(ctx context.Context, _ *rest.Config) error {
		<-ctx.Done()
		return nil
	}}
	p := s.playAt(t, nil, 10, timings{2: whileAway})
	require.Equal(t, []problem{{oracle: Runs, text: "step 3, fail: no luck"}}, p.problems)
}
