package differential

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/features"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"glasswatch/compat/cache"
)

var replay = flag.String("replay", "", "a script to play instead of those in testdata")

// Some histories are enough at each run; make check plays more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "4"); err != nil {
		panic(err)
	}
	klog.SetLogger(logr.Discard())
	// The default ones sleep until a millisecond after the last error of the process, which in another bubble may be
	// hours ahead.
	utilruntime.ErrorHandlers = nil
	goleak.VerifyTestMain(m)
}

// namedInformer is an informer with client-go's face.
type namedInformer struct {
	name  string
	build makeInformer
}

// facades are compared with each other and with the native informer; the first is the measure.
var facades = []namedInformer{
	{"client-go", clientgo.NewSharedIndexInformer},
	{"compat", cache.NewSharedIndexInformer},
}

func TestDifferential_RandomHistoriesLookTheSame(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				s := drawScript(r, mode)
				if problem := perform(t, s, facades, nil); problem != "" {
					r.Fatalf("%s\nScript, for -replay:\n%s", problem, s)
				}
			})
		})
	}
}

func TestDifferential_ScriptsLookTheSame(t *testing.T) {
	files, err := filepath.Glob("testdata/*.script")
	require.NoError(t, err)
	if *replay != "" {
		files = []string{*replay}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := parseScript(string(text))
			require.NoError(t, err)
			var out io.Writer
			if *replay != "" {
				out = t.Output()
			}
			require.Empty(t, perform(t, s, facades, out))
		})
	}
}

// perform plays s in a bubble of its own, under its feature gates.
func perform(t *testing.T, s script, to []namedInformer, out io.Writer) (problem string) {
	setGates(t, s)
	synctest.Test(t, func(t *testing.T) { problem = play(t, s, to, out) })
	return problem
}

// setGates sets what a script's world asks for. Gates are the process's: these tests are not parallel.
func setGates(t *testing.T, s script) {
	gates := map[features.Feature]bool{
		features.WatchListClient:              s.has("streaming"),
		features.InOrderInformers:             s.mode() != "perkey",
		features.AtomicFIFO:                   s.mode() == "inorder",
		features.InOrderInformersBatchProcess: !s.has("nobatch"),
	}
	setter := features.FeatureGates().(interface {
		SetForTesting(features.Feature, bool) error
	})
	for gate, value := range gates {
		require.NoError(t, setter.SetForTesting(gate, value))
	}
}
