package substitution

import (
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/features"
	featuretesting "k8s.io/client-go/features/testing"
	"k8s.io/klog/v2"

	"glasswatch/sharedinformer"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	// The default ones sleep until a millisecond after the last error of the process, which in another bubble may be
	// hours ahead.
	utilruntime.ErrorHandlers = nil
	goleak.VerifyTestMain(m)
}

func TestSubstitution_EveryPartTakesThePlaceOfItsCounterpart(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for _, kind := range queueKinds {
			t.Run(fmt.Sprintf("%s streaming=%v", kind, streaming), func(t *testing.T) {
				featuretesting.SetFeatureDuringTest(t, features.WatchListClient, streaming)
				for _, c := range choices() {
					t.Run(c.String(), func(t *testing.T) { tell(t, c.assemble(kind)) })
				}
			})
		}
	}
}

// choices are all sixteen.
func choices() []choice {
	var all []choice
	for _, reflector := range sides {
		for _, queue := range sides {
			for _, store := range sides {
				for _, controller := range sides {
					all = append(all, choice{reflector, queue, store, controller})
				}
			}
		}
	}
	return all
}

func TestSubstitution_EveryWholeInformerTellsTheSameStory(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for _, kind := range []sharedinformer.QueueKind{sharedinformer.InOrder, sharedinformer.PerKey} {
			t.Run(fmt.Sprintf("per-key=%v streaming=%v", kind == sharedinformer.PerKey, streaming), func(t *testing.T) {
				featuretesting.SetFeatureDuringTest(t, features.WatchListClient, streaming)
				featuretesting.SetFeatureDuringTest(t, features.InOrderInformers, kind == sharedinformer.InOrder)
				for _, w := range wholes {
					t.Run(w.name, func(t *testing.T) { tell(t, w.build(kind, streaming)) })
				}
			})
		}
	}
}
