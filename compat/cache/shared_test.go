package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/sharedinformer"
)

func TestSharedInformer_TellsHandlersWhatClientGosTells(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		early, late := &diary{}, &diary{}
		handle, err := informer.AddEventHandler(early)
		require.NoError(t, err)
		require.False(t, handle.HasSynced())
		defer running(informer.RunWithContext)()

		early.Expect(t, "initial a@1")
		require.True(t, informer.HasSynced())
		require.True(t, handle.HasSynced())
		require.Equal(t, "1", informer.LastSyncResourceVersion())
		s.Put("b")
		s.Put("a")
		s.Delete("b")
		early.Expect(t, "add b@2", "update a@1→3", "delete b@4")

		_, err = informer.AddEventHandler(late)
		require.NoError(t, err)
		late.Expect(t, "initial a@3")
		s.Unobserved(func() {
			s.Delete("a")
			s.Put("c")
		})
		pass(time.Minute)
		early.Expect(t, "delete tombstone default/a of a@3", "add c@6")
		late.Expect(t, "delete tombstone default/a of a@3", "add c@6")
		require.Equal(t, []string{"default/c"}, informer.GetStore().ListKeys())
	})
}

func TestSharedInformer_ResyncsEachHandlerAtItsOwnPeriod(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		informer := m.shared(s, &corev1.ConfigMap{}, SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second})
		byDefault, slow, never := &diary{}, &diary{}, &diary{}
		_, _ = informer.AddEventHandler(byDefault)
		_, _ = informer.AddEventHandlerWithResyncPeriod(slow, 25*time.Second)
		_, _ = informer.AddEventHandlerWithResyncPeriod(never, 0)
		defer running(informer.RunWithContext)()
		byDefault.Expect(t, "initial a@1")
		slow.Expect(t, "initial a@1")
		never.Expect(t, "initial a@1")
		pass(31 * time.Second)
		byDefault.Expect(t, "update a@1→1", "update a@1→1", "update a@1→1")
		slow.Expect(t, "update a@1→1")
		never.Expect(t)
	})
}

func TestSharedInformer_LivesAsClientGosDoes(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		require.Empty(t, informer.LastSyncResourceVersion())
		require.Empty(t, informer.GetController().LastSyncResourceVersion())
		transform := func(obj any) (any, error) {
			obj.(*corev1.ConfigMap).Data = map[string]string{"seen": "yes"}
			return obj, nil
		}
		require.NoError(t, informer.SetTransform(transform))
		require.NoError(t, informer.AddIndexers(Indexers{NamespaceIndex: MetaNamespaceIndexFunc}))
		require.Error(t, informer.AddIndexers(Indexers{NamespaceIndex: MetaNamespaceIndexFunc}))
		require.NoError(t, informer.GetIndexer().Add(configMap("by hand", "7")))
		s.Put("a")
		d := &diary{}
		handle, err := informer.AddEventHandler(d)
		require.NoError(t, err)

		stop := running(informer.RunWithContext)
		require.Error(t, informer.SetTransform(transform))
		require.Error(t, informer.SetWatchErrorHandler(func(*Reflector, error) {}))
		informer.RunWithContext(t.Context()) // returns at once
		require.True(t, informer.GetController().HasSynced())
		require.Equal(t, "1", informer.GetController().LastSyncResourceVersion())
		d.Expect(t, "delete tombstone default/by hand of by hand@7", "initial a@1")
		objs, err := informer.GetIndexer().ByIndex(NamespaceIndex, "default")
		require.NoError(t, err)
		require.Equal(t, "yes", objs[0].(*corev1.ConfigMap).Data["seen"])

		require.NoError(t, informer.RemoveEventHandler(handle))
		require.NoError(t, informer.RemoveEventHandler(handle))
		require.Error(t, informer.RemoveEventHandler(nil))
		s.Put("b")
		d.Expect(t)
		require.False(t, informer.IsStopped())
		stop()
		require.True(t, informer.IsStopped())
		_, err = informer.AddEventHandler(d)
		require.ErrorContains(t, err, "was not added to shared informer because it has stopped already")
		require.Error(t, informer.AddIndexers(Indexers{"more": MetaNamespaceIndexFunc}))
	})
}

func TestSharedInformer_RunWithAClosedChannelIsOver(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		closed := make(chan struct{})
		close(closed)
		informer.Run(closed)
		require.True(t, informer.IsStopped())
		require.False(t, m.waitFor(t.Context(), "", doneNow{}) && informer.HasSynced())
	})
}

type doneNow struct{}

func (doneNow) Name() string { return "now" }
func (doneNow) Done() <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

func TestShutDownEventHandler_WaitsForTheCallUnderWay(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		goOn := make(chan struct{})
		handle, err := informer.AddEventHandler(ResourceEventHandlerFuncs{AddFunc: func(any) { <-goOn }})
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		for _, shutDown := range []func(SharedInformer, ResourceEventHandlerRegistration) error{m.shutDown, clientgo.ShutDownEventHandler} {
			through := make(chan error, 1)
			go func() { through <- shutDown(informer, handle) }()
			synctest.Wait()
			if goOn != nil {
				require.Empty(t, through)
				close(goOn)
				goOn = nil
			}
			require.NoError(t, <-through)
		}
	})
}

func TestCheckers_HaveClientGosNames(t *testing.T) {
	var names [2][]string
	for i, m := range []machinery{theirMachinery, ourMachinery} {
		informer := m.shared(newVillage(), &corev1.ConfigMap{}, plain())
		names[i] = append(names[i], informer.HasSyncedChecker().Name())
		for _, handler := range []ResourceEventHandler{
			&diary{}, ResourceEventHandlerFuncs{}, &ResourceEventHandlerFuncs{AddFunc: func(any) {}, DeleteFunc: func(any) {}},
			FilteringResourceEventHandler{Handler: &diary{}}, ResourceEventHandlerFuncs{AddFunc: func(any) {}, DeleteFunc: forget},
		} {
			handle, err := informer.AddEventHandler(handler)
			require.NoError(t, err)
			names[i] = append(names[i], handle.HasSyncedChecker().Name())
		}
	}
	require.Equal(t, names[0], names[1])
}

func forget(any) {}

func TestSharedInformer_PanicsOfHandlersGoThroughHandleCrash(t *testing.T) {
	really, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = really, handlers }()
	utilruntime.ReallyCrash = false
	crashes := &diary{}
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, r any) { crashes.write("%v", r) })
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		d := &diary{}
		_, err := informer.AddEventHandler(ResourceEventHandlerFuncs{
			AddFunc:    func(any) { panic("oh") },
			DeleteFunc: d.OnDelete,
		})
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		s.Delete("a")
		pass(2 * time.Second)
		crashes.Expect(t, "oh")
		d.Expect(t, "delete a@2")
	})
}

func TestWatchErrorHandler_HearsWhatClientGosWouldTellIt(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		s.failLists = []error{errors.New("no list today"), apierrors.NewForbidden(corev1.Resource("configmaps"), "", nil)}
		s.failWatches = []error{apierrors.NewTooManyRequests("slow down", 0), errors.New("no watch today")}
		informer := m.shared(s, &corev1.ConfigMap{}, SharedIndexInformerOptions{ObjectDescription: "the maps"})
		d := &diary{}
		require.NoError(t, informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *Reflector, err error) {
			d.write("%s: %v", r.TypeDescription(), err)
			require.NotEmpty(t, r.Name())
			m.onError(ctx, r, err)
			theirMachinery.onError(ctx, r, err)
		}))
		defer running(informer.RunWithContext)()
		pass(time.Minute)
		s.Unobserved(func() {}) // a 410 is business as usual
		s.Send(watch.Event{Type: watch.Error, Object: &metav1.Status{Code: 500, Reason: metav1.StatusReasonInternalError}})
		pass(time.Minute)
		d.Expect(t,
			"the maps: failed to list the maps: no list today",
			"the maps: failed to list the maps: configmaps is forbidden: <nil>",
			"the maps: no watch today")
	})
}

func TestDefaultWatchErrorHandler_TakesNoReflector(t *testing.T) {
	DefaultWatchErrorHandler(t.Context(), nil, errors.New("this is logged"))
}

func TestTypedInformer_HandsOutTypedObjectsAndDeletions(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		s.Put("b")
		informer := m.typed(m.shared(s, &corev1.ConfigMap{}, plain()))
		require.NoError(t, informer.AddTypedIndexers(TypedIndexers[*corev1.ConfigMap]{
			"version": func(c *corev1.ConfigMap) ([]string, error) { return []string{c.ResourceVersion}, nil },
		}))
		d := &diary{}
		handler := TypedResourceEventHandlerFuncs[*corev1.ConfigMap]{
			AddFunc:    func(obj *corev1.ConfigMap) { d.write("add %s", obj.Name) },
			UpdateFunc: func(_, obj *corev1.ConfigMap) { d.write("update %s", obj.Name) },
			DeleteFunc: func(obj DeletedObject[*corev1.ConfigMap]) {
				d.write("delete %s %t %s", obj.GetKey(), obj.FinalStateUnknown != nil, obj.OptionalObj.ResourceVersion)
			},
		}
		_, err := informer.AddTypedEventHandler(handler)
		require.NoError(t, err)
		_, err = informer.AddTypedEventHandler(handler, HandlerOptions{}, HandlerOptions{})
		require.Error(t, err)
		defer running(informer.RunWithContext)()
		d.Expect(t, "add a", "add b")
		s.Put("b")
		s.Delete("a")
		s.Unobserved(func() { s.Delete("b") })
		pass(time.Minute)
		d.Expect(t, "update b", "delete default/a false 4", "delete default/b true 3")
		s.Put("c")
		synctest.Wait()
		objs, err := informer.GetTypedIndexer().ByTypedIndex("version", "6")
		require.NoError(t, err)
		require.Equal(t, "c", objs[0].Name)
	})
}

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
