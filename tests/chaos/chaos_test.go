package chaos

import (
	"flag"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/features"
	featuretesting "k8s.io/client-go/features/testing"
	"k8s.io/klog/v2"

	"glasswatch/tests/chaos/proxy"
)

var (
	schedules = flag.Int("chaos.schedules", 64, "how many schedules TestChaos plays")
	firstSeed = flag.Uint64("chaos.from", 1, "the seed of the first of them")
	onlySeed  = flag.Uint64("chaos.seed", 0, "play this one alone, and tell of it")
)

func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetLogger(logr.Discard()) // the planned faults must not fill the log
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = nil
	goleak.VerifyTestMain(m)
}

// enough is the number of schedules from which on each kind of fault must have fired half as often.
const enough = 1000

// After any faults, once all is quiet, the store equals the server. Every handler has the store's objects and got their
// changes in order. Nothing is left behind.
func TestChaos(t *testing.T) {
	if *onlySeed != 0 {
		s := draw(*onlySeed)
		t.Log("\n" + s.String())
		featuretesting.SetFeatureDuringTest(t, features.InOrderInformers, s.gate())
		play(t, s, &tally{})
		return
	}
	var all tally
	from, n := *firstSeed, uint64(*schedules)
	var heap []uint64
	for part := range uint64(4) { // quarters, to compare the heap after them
		for _, gate := range []bool{true, false} {
			t.Run(fmt.Sprintf("part %d InOrderInformers=%v", part+1, gate), func(t *testing.T) {
				featuretesting.SetFeatureDuringTest(t, features.InOrderInformers, gate)
				for seed := from + part*n/4; seed < from+(part+1)*n/4; seed++ {
					if s := draw(seed); s.gate() == gate {
						t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
							t.Parallel()
							if !enoughSeen() {
								play(t, s, &all)
							}
						})
					}
				}
			})
		}
		heap = append(heap, heapNow())
	}
	t.Logf("%d schedules from seed %d\n%s", n, from, all.String())
	t.Logf("heap after each quarter: %d KiB", heap)
	if t.Failed() {
		return
	}
	// This is a subtest, so that a mutant can be tried with the schedules alone.
	t.Run("all of it happened", func(t *testing.T) {
		for k := range kinds {
			switch fired := all.of(k); {
			case k == kind(proxy.Rewound): // a late effect of a restored backup, if the client does not list by itself
			case n >= enough:
				require.GreaterOrEqual(t, fired, int64(n/2), "too few of %s", k)
			case n >= 64:
				require.Positive(t, fired, "none of %s", k)
			}
		}
		if n >= 64 { // a quarter of them keep a checkpoint; without one of use there is nothing to start from
			require.GreaterOrEqual(t, all.resumed.Load(), int64(n/16), "too few checkpoints were of use")
		}
		const slack = 4 << 10
		require.Less(t, heap[3], heap[1]+slack, "the heap grows with the number of schedules")
	})
}

// failed is set by the first schedule that fails.
var failed atomic.Bool

// enoughSeen tells whether one has failed and -failfast was given, which does not hold back tests that wait for their turn.
func enoughSeen() bool {
	f := flag.Lookup("test.failfast")
	return failed.Load() && f != nil && f.Value.String() == "true"
}

// heapNow is what is in use after a garbage collection, in KiB.
func heapNow() uint64 {
	runtime.GC()
	runtime.GC() // what had finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc >> 10
}

// play plays a schedule in a bubble of its own. If it fails, the test prints the command that repeats it.
func play(t *testing.T, s schedule, all *tally) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%v", p)
		}
		if t.Failed() {
			failed.Store(true)
			t.Errorf("replay: go test ./tests/chaos -run 'TestChaos$' -v -chaos.seed=%d", s.seed)
		}
	}()
	var problem error
	synctest.Test(t, func(t *testing.T) { problem = newWorld(t, s, all).play() })
	if problem != nil {
		t.Error(problem)
	}
}
