package scale

import (
	"cmp"
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

var (
	schedules = flag.Int("scale.schedules", 16, "how many small schedules TestScale plays")
	firstSeed = flag.Uint64("scale.from", 1, "the seed of the first of them")
	onlySeed  = flag.Uint64("scale.seed", 0, "play this one alone, and tell of it")
)

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400)        // a schedule leaves much behind, and little stays
	klog.SetLogger(logr.Discard()) // the planned faults must not fill the log
	goleak.VerifyTestMain(m)
}

// In any schedule of faults no two processes work on one cell, no cell is without work for longer than its step allows,
// and no shard moves that need not.
func TestScale(t *testing.T) {
	all := playAll(t, *schedules, func(w *world) {})
	if *onlySeed == 0 && *schedules >= enough && !t.Failed() {
		require.Empty(t, all.missing(1), "never happened")
		t.Run("large", playLarge)
	}
}

// playAll plays so many schedules, or the one that was asked for. Each world is prepared first.
func playAll(t *testing.T, schedules int, prepare func(w *world)) *tally {
	var all tally
	if *onlySeed != 0 {
		play(t, *onlySeed, &all, prepare, t.Logf)
		return &all
	}
	t.Run("seeds", func(t *testing.T) {
		for seed := *firstSeed; seed < *firstSeed+uint64(schedules); seed++ {
			t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
				t.Parallel()
				if !failed.Load() { // one that fails is enough, and says how to repeat it
					play(t, seed, &all, prepare, func(string, ...any) {})
				}
			})
		}
	})
	t.Logf("%d schedules from seed %d\n%s", schedules, *firstSeed, all.String())
	return &all
}

// In enough schedules each step is taken and each kind of fault happens, whatever the scheduler does: some hundred times.
const enough = 1000

// failed is set by the first schedule that fails.
var failed atomic.Bool

// play plays the schedule of a seed in a bubble of its own. If it fails, the test prints the command that repeats it.
func play(t *testing.T, seed uint64, all *tally, prepare func(w *world), logf func(string, ...any)) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%v", p)
		}
		if t.Failed() {
			failed.Store(true)
			name, _, _ := strings.Cut(t.Name(), "/")
			t.Errorf("replay: go test ./tests/scale -run '%s$' -v -scale.seed=%d", name, seed)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(seed, 16, 10)
		prepare(w)
		err := w.play(3, logf)
		require.NoError(t, cmp.Or(err, w.Close()))
		all.add(w.tally)
	})
}

// play starts some processes and takes n steps, which the seed chooses.
func (w *world) play(n int, logf func(string, ...any)) error {
	names := make([]string, n)
	for i := range names {
		names[i] = steps[w.rnd.IntN(len(steps))].name
	}
	return w.playNamed(3+w.rnd.IntN(6), []int{4, 6, 8, 16}[w.rnd.IntN(4)], names, logf)
}

// playNamed starts processes that divide the work into shards, and takes the steps.
func (w *world) playNamed(processes, shards int, names []string, logf func(string, ...any)) error {
	for range processes {
		w.start(fmt.Sprintf("m%d", w.started), shards, w.clock())
	}
	w.step = "start"
	if err := w.Settle(); err != nil {
		return err
	}
	for _, name := range names {
		if err := w.take(slices.IndexFunc(steps, func(s step) bool { return s.name == name }), logf); err != nil {
			return err
		}
	}
	return w.judge()
}

// take takes the step at a place in steps.
func (w *world) take(at int, logf func(string, ...any)) error {
	s, begun := steps[at], w.now()
	w.step = s.name
	before := w.tally.kinds[s.hits].Load()
	w.register.Begin()
	w.ledger.Start()
	err := s.do(w)
	gap, after := w.ledger.Gaps()
	logf("%8v %-26s %d members, %v, without work %v, once it was over %v",
		begun, s.name, len(w.processes), w.now()-begun, gap, after)

	if w.tally.kinds[s.hits].Load() > before {
		w.tally.steps[at].Add(1)
	}
	switch {
	case err != nil:
		return err
	case gap > s.gap:
		return fmt.Errorf("%s: a cell was without work for %v, longer than %v", s.name, gap, s.gap)
	case after > s.after:
		return fmt.Errorf("%s: a cell was without work for %v once it was over, longer than %v", s.name, after, s.after)
	}
	return nil
}
