package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/sharedinformer"
)

func TestSharedInformer_ListWithoutAResourceVersionIsFine(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, _ *village) {
		w := watch.NewRaceFreeFake()
		informer := m.shared(&ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
				return &corev1.ConfigMapList{Items: []corev1.ConfigMap{*configMap("a", "")}}, nil
			},
			WatchFunc: func(opts metav1.ListOptions) (watch.Interface, error) {
				if opts.SendInitialEvents != nil {
					return nil, apierrors.NewBadRequest("no streaming lists")
				}
				return w, nil
			},
		}, &corev1.ConfigMap{}, plain())
		d := &diary{}
		_, _ = informer.AddEventHandler(d)
		defer running(informer.RunWithContext)()
		w.Add(configMap("b", ""))
		w.Add(configMap("", "")) // fake clients do not generate names
		w.Delete(configMap("a", ""))
		d.Expect(t, "initial a@", "add b@", "add @", "delete a@")
	})
}

func TestSharedInformer_OneBadObjectCostsThatObjectOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newVillage()
		s.Put("a")
		informer := NewSharedIndexInformer(s, &corev1.ConfigMap{}, 0, Indexers{
			"touchy": func(obj any) ([]string, error) {
				if obj.(*corev1.ConfigMap).Name == "b" {
					return nil, errors.New("not b")
				}
				return []string{"fine"}, nil
			},
		})
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			if obj.(*corev1.ConfigMap).Name == "c" {
				return nil, errors.New("not c")
			}
			return obj, nil
		}))
		d := &diary{}
		_, _ = informer.AddEventHandler(d)
		defer running(informer.RunWithContext)()
		for _, name := range []string{"b", "c", "d"} {
			s.Put(name)
		}
		s.Send(watch.Event{Type: watch.Added, Object: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "e"}}})
		s.Send(watch.Event{Type: watch.Added, Object: &metav1.Table{}})
		s.Put("f")
		d.Expect(t, "initial a@1", "add b@2", "add d@4", "add f@5")
		keys, err := informer.GetIndexer().IndexKeys("touchy", "fine")
		require.NoError(t, err)
		require.Equal(t, []string{"default/a", "default/d", "default/f"}, keys)
	})
}

func TestSharedInformer_ABacklogCanBeBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newVillage()
		s.Put("a")
		informer := NewSharedIndexInformer(s, &corev1.ConfigMap{}, 0, nil)
		bounded := informer.(interface {
			AddBoundedEventHandler(ResourceEventHandler, sharedinformer.HandlerOptions) (ResourceEventHandlerRegistration, error)
		})
		folding, counting, goOn := &diary{}, &diary{}, make(chan struct{})
		wait := func(d *diary) ResourceEventHandler {
			return ResourceEventHandlerFuncs{
				AddFunc:    func(obj any) { d.OnAdd(obj, false); <-goOn },
				UpdateFunc: d.OnUpdate,
			}
		}
		_, err := bounded.AddBoundedEventHandler(wait(folding), sharedinformer.HandlerOptions{Fold: true})
		require.NoError(t, err)
		handle, err := bounded.AddBoundedEventHandler(wait(counting), sharedinformer.HandlerOptions{MaxBacklog: 2})
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		for range 5 {
			s.Put("a")
			synctest.Wait()
		}
		close(goOn)
		folding.Expect(t, "add a@1", "update a@1→6")
		counting.Expect(t, "add a@1")
		require.ErrorIs(t, handle.(interface{ Err() error }).Err(), sharedinformer.ErrBacklog)
	})
}

func TestSharedInformer_FunctionsThatHeedNoContextHoldNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, hangs := range []string{"list", "watch"} {
			release := make(chan struct{})
			late := watch.NewFake()
			s := newVillage()
			informer := NewSharedInformer(&ListWatch{
				ListFunc: func(opts metav1.ListOptions) (runtime.Object, error) {
					if hangs == "list" {
						<-release
					}
					return s.List(opts)
				},
				WatchFunc: func(opts metav1.ListOptions) (watch.Interface, error) {
					if opts.SendInitialEvents != nil {
						return nil, apierrors.NewBadRequest("no streaming lists")
					}
					<-release
					return late, nil
				},
			}, &corev1.ConfigMap{}, 0)
			running(informer.RunWithContext)() // returns, though the function does not
			close(release)
			synctest.Wait()
			require.Equal(t, hangs == "watch", late.IsStopped(), "a watch that comes too late is stopped")
		}
	})
}

func TestWaitFor_ReturnsWhetherAllAreDone(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, m.waitFor(ctx, "test", informer.HasSyncedChecker(), doneNow{}))
		require.False(t, m.waitSync(ctx.Done(), informer.HasSynced))
		defer running(informer.RunWithContext)()
		require.True(t, m.waitFor(ctx, "test", informer.HasSyncedChecker(), doneNow{}), "done is done, whatever the context says")
		require.True(t, m.waitSync(ctx.Done(), informer.HasSynced))
	})
}

func TestMutationDetector_SaysWhatWasModified(t *testing.T) {
	t.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "true")
	synctest.Test(t, func(t *testing.T) {
		detector := NewCacheMutationDetector("maps")
		obj := configMap("a", "1")
		detector.AddObject(obj)
		detector.AddObject(DeletedFinalStateUnknown{})
		running(func(ctx context.Context) { detector.Run(ctx.Done()) })() // it looks, and finds nothing
		obj.Data = map[string]string{"who": "me"}
		defer func() { require.Contains(t, fmt.Sprint(recover()), "cache maps modified") }()
		detector.Run(t.Context().Done())
	})
}

// The panic is in a goroutine of its own, so it ends the process.
func TestMutationDetector_EndsAProgramWhoseHandlerWritesToTheCache(t *testing.T) {
	if os.Getenv("KUBE_CACHE_MUTATION_DETECTOR") == "" {
		program := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		program.Env = append(os.Environ(), "KUBE_CACHE_MUTATION_DETECTOR=true")
		out, err := program.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), `a@1 was modified: Data`)
		return
	}
	synctest.Test(t, func(t *testing.T) {
		s := newVillage()
		s.Put("a")
		informer := NewSharedIndexInformer(s, &corev1.ConfigMap{}, 0, Indexers{})
		_, err := informer.AddEventHandler(ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			obj.(*corev1.ConfigMap).Data = map[string]string{"who": "me"}
		}})
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		<-time.After(time.Minute)
	})
}

func TestInformerMetrics_ReachTheProvider(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		name, err := NewInformerName("informer metrics " + m.name)
		require.NoError(t, err)
		defer name.Release()
		_, err = NewInformerName("informer metrics " + m.name)
		require.Error(t, err, "taken, in client-go too")
		s.Put("a")
		provider := &gauges{}
		informer := m.shared(s, &corev1.ConfigMap{}, SharedIndexInformerOptions{
			Identifier:              name.WithResource(corev1.SchemeGroupVersion.WithResource("configmaps")),
			InformerMetricsProvider: provider,
		})
		defer running(informer.RunWithContext)()
		s.Put("b")
		synctest.Wait()
		require.Zero(t, provider.queued.last())
		require.NotZero(t, provider.latency.count())
		require.EqualValues(t, 2, provider.version.last())
	})
}

// gauges is an InformerMetricsProvider.
type gauges struct{ queued, latency, version gauge }

type gauge struct{ diary }

func (g *gauge) Set(v float64)     { g.write("%v", v) }
func (g *gauge) Observe(v float64) { g.write("%v", v) }
func (g *gauge) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.entries)
}

func (g *gauge) last() (v int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.entries) > 0 {
		_, _ = fmt.Sscan(g.entries[len(g.entries)-1], &v)
	}
	return v
}

func (p *gauges) NewQueuedItemMetric(InformerNameAndResource) GaugeMetric { return &p.queued }
func (p *gauges) NewProcessingLatencyMetric(InformerNameAndResource) HistogramMetric {
	return &p.latency
}
func (p *gauges) NewStoreResourceVersionMetric(InformerNameAndResource) GaugeMetric {
	return &p.version
}
