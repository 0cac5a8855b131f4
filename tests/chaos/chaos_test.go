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

	"glasswatch/internal/realserver"
	"glasswatch/tests/chaos/proxy"
)

var (
	schedules = flag.Int("chaos.schedules", 8, "how many schedules TestChaos plays")
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

// enough is the number of schedules in which each kind of fault fires, whatever the scheduler does: hundreds of times.
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
	realserver.Run(t, "real", chaosReal)
	t.Logf("%d schedules from seed %d\n%s", n, from, all.String())
	t.Logf("heap after each quarter: %d KiB", heap)
	if t.Failed() {
		return
	}
	if n < enough {
		return
	}
	// This is a subtest, so that a mutant can be tried with the schedules alone.
	t.Run("all of it happened", func(t *testing.T) {
		for k := range kinds {
			if k != kind(proxy.Rewound) { // a late effect of a restored backup, if the client does not list by itself
				require.Positive(t, all.of(k), "none of %s", k)
			}
		}
		require.Positive(t, all.resumed.Load(), "no checkpoint was of use")
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
