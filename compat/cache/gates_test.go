package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featuretesting "k8s.io/client-go/features/testing"
)

// requests notes whether anybody asks a village for a streaming list.
type requests struct{ streamed atomic.Bool }

func (r *requests) of(s *village) *ListWatch {
	return &ListWatch{ListFunc: s.List, WatchFunc: func(opts metav1.ListOptions) (watch.Interface, error) {
		if opts.SendInitialEvents != nil {
			r.streamed.Store(true)
		}
		return s.Watch(opts)
	}}
}

// everyWay starts each of the things that list and watch.
var everyWay = map[string]func(m machinery, lw ListerWatcher) (stop func()){
	"shared informer": func(m machinery, lw ListerWatcher) func() {
		return running(m.shared(lw, &corev1.ConfigMap{}, plain()).RunWithContext)
	},
	"informer": func(m machinery, lw ListerWatcher) func() {
		_, c := m.simple(InformerOptions{ListerWatcher: lw, ObjectType: &corev1.ConfigMap{}, Handler: &diary{}})
		return running(c.RunWithContext)
	},
	"reflector": func(m machinery, lw ListerWatcher) func() {
		return running(m.reflector(lw, &corev1.ConfigMap{}, NewStore(MetaNamespaceKeyFunc), ReflectorOptions{}).RunWithContext)
	},
}

func TestGates_ListsAreStreamedIfWatchListClientAndTheClientAgree(t *testing.T) {
	for name, start := range everyWay {
		for _, gate := range []bool{false, true} {
			for _, unsupported := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					featuretesting.SetFeatureDuringTest(t, features.WatchListClient, gate)
					withBoth(t, func(t *testing.T, m machinery, s *village) {
						r := &requests{}
						stop := start(m, &semanticListWatch{ListWatch: r.of(s), unsupported: unsupported})
						defer stop()
						require.Equal(t, gate && !unsupported, r.streamed.Load())
					})
				})
			}
		}
	}
}

func TestGates_WithoutAtomicFIFOHandlersHearTheSameAndStoresNameNoVersion(t *testing.T) {
	for _, on := range []bool{false, true} {
		featuretesting.SetFeatureDuringTest(t, features.UnlockWhileProcessingFIFO, on)
		featuretesting.SetFeatureDuringTest(t, features.AtomicFIFO, on)
		withBoth(t, func(t *testing.T, m machinery, s *village) {
			s.Put("a")
			shared, told, simply := m.shared(s, &corev1.ConfigMap{}, plain()), &diary{}, &diary{}
			_, err := shared.AddEventHandler(told)
			require.NoError(t, err)
			store, controller := m.simple(InformerOptions{ListerWatcher: s, ObjectType: &corev1.ConfigMap{}, Handler: simply})
			defer running(shared.RunWithContext)()
			defer running(controller.RunWithContext)()
			s.Put("b")
			for _, d := range []*diary{told, simply} {
				d.Expect(t, "initial a@1", "add b@2")
			}
			s.Unobserved(func() {
				s.Delete("a")
				s.Put("b")
			})
			pass(time.Minute)
			for _, d := range []*diary{told, simply} {
				d.Expect(t, "delete tombstone default/a of a@1", "update b@2→4")
			}
			s.Put("c")
			s.Send(watch.Event{Type: watch.Bookmark, Object: configMap("", "9")})
			version := map[bool]string{true: "9"}[on]
			for _, d := range []*diary{told, simply} {
				d.Expect(t, "add c@5")
			}
			require.Equal(t, version, shared.GetStore().LastStoreSyncResourceVersion())
			require.Equal(t, version, store.LastStoreSyncResourceVersion())
		})
	}
}
