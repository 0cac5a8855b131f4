package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
)

// ledger is a store that writes down what a reflector tells it.
type ledger struct {
	diary
	refuse error
}

func (l *ledger) Add(obj any) error    { l.write("Add %s", brief(obj)); return l.refuse }
func (l *ledger) Update(obj any) error { l.write("Update %s", brief(obj)); return l.refuse }
func (l *ledger) Delete(obj any) error { l.write("Delete %s", brief(obj)); return l.refuse }
func (l *ledger) Resync() error        { l.write("Resync"); return nil }
func (l *ledger) Replace(objs []any, version string) error {
	l.write("Replace %d at %s", len(objs), version)
	return nil
}
func (l *ledger) Bookmark(version string) error        { l.write("Bookmark %s", version); return nil }
func (l *ledger) UpdateResourceVersion(version string) { l.write("at %s", version) }

func TestReflector_TellsTheStoreWhatClientGosTells(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		l := &ledger{refuse: errors.New("the store is full")} // which costs nothing but a line in the log
		r := m.reflector(s, &corev1.ConfigMap{}, l, ReflectorOptions{Name: "rory", ResyncPeriod: 20 * time.Minute})
		require.Equal(t, "rory", r.Name())
		require.Equal(t, "*v1.ConfigMap", r.TypeDescription())
		require.Empty(t, r.LastSyncResourceVersion())
		defer running(r.RunWithContext)()
		l.Expect(t, "Replace 1 at 1")
		s.Put("a")
		s.Put("b")
		s.Delete("b")
		s.Send(watch.Event{Type: watch.Modified, Object: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}})
		s.Send(watch.Event{Type: watch.Bookmark, Object: configMap("", "9")})
		l.Expect(t, "Update a@2", "at 2", "Add b@3", "at 3", "Delete b@4", "at 4", "Bookmark 9", "at 9")
		require.Equal(t, "9", r.LastSyncResourceVersion())
		pass(25 * time.Minute)
		l.Expect(t, "Resync")
	})
}

func TestReflector_ListAndWatchEndsWithTheFirstFailure(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.failLists, s.failWatches = []error{errors.New("no list")}, []error{errors.New("no watch")}
		l := &ledger{}
		r := m.reflector(s, &corev1.ConfigMap{}, l, ReflectorOptions{})
		require.ErrorContains(t, r.ListAndWatchWithContext(t.Context()), "failed to list *v1.ConfigMap: no list")
		require.EqualError(t, r.ListAndWatchWithContext(t.Context()), "no watch")
		began := time.Now()
		time.AfterFunc(time.Minute, func() { s.Unobserved(func() {}) })
		require.NoError(t, r.ListAndWatchWithContext(t.Context()), "the watch was had, then lost")
		require.Equal(t, time.Minute, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		require.NoError(t, r.ListAndWatchWithContext(ctx))
	})
}

func TestReflector_UnstructuredObjectsMustBeOfTheKind(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, _ *village) {
		of := func(kind, name string) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "resourceVersion": "2"},
			}}
		}
		w := watch.NewRaceFreeFake()
		l := &ledger{}
		r := m.reflector(&ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
				return &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "1"}}}, nil
			},
			WatchFunc: func(opts metav1.ListOptions) (watch.Interface, error) {
				if opts.SendInitialEvents != nil {
					return nil, errors.New("no streaming lists")
				}
				return w, nil
			},
		}, of("ConfigMap", ""), l, ReflectorOptions{})
		require.Equal(t, "/v1, Kind=ConfigMap", r.TypeDescription())
		defer running(r.RunWithContext)()
		w.Add(of("Secret", "a"))
		w.Add(of("ConfigMap", "b"))
		l.Expect(t, "Replace 0 at 1", "Add b@2", "at 2")
	})
}

func TestReflector_ATableIsRefused(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, _ *village) {
		r := m.reflector(&ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
				return &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "Table"}}, nil
			},
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return nil, errors.New("none") },
		}, nil, &ledger{}, ReflectorOptions{})
		require.ErrorContains(t, r.ListAndWatchWithContext(t.Context()), "unsupported list gvk: meta.k8s.io/v1, Kind=Table, type: <unspecified>")
	})
}

func TestReflector_HeedsTheClockAndTheBackoffItIsGiven(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		clock := clocktesting.NewFakeClock(time.Now())
		s.Put("a")
		s.failLists = []error{errors.New("no"), errors.New("no")}
		l := &ledger{}
		r := m.reflector(s, &corev1.ConfigMap{}, l, ReflectorOptions{
			Clock: clock, Backoff: &wait.Backoff{Duration: time.Hour, Factor: 1, Steps: 10}, ResyncPeriod: 24 * time.Hour,
		})
		defer running(r.RunWithContext)()
		pass(2*time.Hour - time.Second)
		l.Expect(t)
		pass(2 * time.Second)
		l.Expect(t, "Replace 1 at 1")
		pass(25 * time.Hour)
		l.Expect(t)
		for range 2 {
			clock.Step(24 * time.Hour)
			l.Expect(t, "Resync")
		}
	})
}

func TestReflector_AWatchLastsFiveMinutesAtLeast(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		for _, least := range []time.Duration{time.Second, 20 * time.Minute} {
			var mu sync.Mutex
			var seconds int64
			r := m.reflector(&ListWatch{ListFunc: s.List, WatchFunc: func(opts metav1.ListOptions) (watch.Interface, error) {
				mu.Lock()
				defer mu.Unlock()
				seconds = *opts.TimeoutSeconds
				return watch.NewRaceFreeFake(), nil
			}}, nil, &ledger{}, ReflectorOptions{MinWatchTimeout: least})
			running(r.RunWithContext)()
			want := max(least, 5*time.Minute).Seconds()
			require.GreaterOrEqual(t, float64(seconds), want)
			require.LessOrEqual(t, float64(seconds), 2*want)
		}
	})
}

func TestReflector_KeepsWhatAListCannotShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newVillage()
		s.Put("a")
		s.Put("b")
		bad := false
		lw := &ListWatch{WatchFunc: s.Watch, ListFunc: func(opts metav1.ListOptions) (runtime.Object, error) {
			from, err := s.List(opts)
			if err != nil || !bad {
				return from, err
			}
			list := &metav1.List{ListMeta: from.(*corev1.ConfigMapList).ListMeta}
			for _, item := range from.(*corev1.ConfigMapList).Items {
				var obj runtime.Object = &item
				if item.Name == "a" {
					obj = &corev1.Secret{ObjectMeta: item.ObjectMeta}
				}
				list.Items = append(list.Items, runtime.RawExtension{Object: obj})
			}
			return list, nil
		}}
		indexer, r := NewNamespaceKeyedIndexerAndReflector(
			ToListWatcherWithWatchListSemantics(lw, s), &corev1.ConfigMap{}, 0)
		defer running(r.RunWithContext)()
		bad = true
		s.Unobserved(func() {
			s.Put("a")
			s.Put("b")
		})
		pass(time.Minute)
		require.Equal(t, "4", r.LastSyncResourceVersion())
		a, _, _ := indexer.GetByKey("default/a")
		b, _, _ := indexer.GetByKey("default/b")
		require.Equal(t, "a@1 b@4", brief(a)+" "+brief(b), "the last good version stays")
	})
}

func TestReflectorMetrics_CountListsAndWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, provider := newVillage(), &reflectorGauges{}
		SetReflectorMetricsProvider(provider)
		defer reflectorMetricsProvider.Store(nil)
		s.Put("a")
		r := NewReflector(s, &corev1.ConfigMap{}, &ledger{}, 0)
		require.Contains(t, r.Name(), ".go:")
		stop := running(r.RunWithContext)
		s.Put("b")
		synctest.Wait()
		stop()
		provider.lists.Expect(t, "1")
		provider.listed.Expect(t, "1")
		provider.watches.Expect(t, "1")
		provider.watched.Expect(t, "1")
		require.Equal(t, 2, provider.version.last())
	})
}

type reflectorGauges struct{ lists, listed, watches, watched, version, other gauge }

func (g *gauge) Inc() { g.Set(1) }

func (p *reflectorGauges) NewListsMetric(string) CounterMetric             { return &p.lists }
func (p *reflectorGauges) NewListDurationMetric(string) SummaryMetric      { return &p.other }
func (p *reflectorGauges) NewItemsInListMetric(string) SummaryMetric       { return &p.listed }
func (p *reflectorGauges) NewWatchesMetric(string) CounterMetric           { return &p.watches }
func (p *reflectorGauges) NewShortWatchesMetric(string) CounterMetric      { return &p.other }
func (p *reflectorGauges) NewWatchDurationMetric(string) SummaryMetric     { return &p.other }
func (p *reflectorGauges) NewItemsInWatchMetric(string) SummaryMetric      { return &p.watched }
func (p *reflectorGauges) NewLastResourceVersionMetric(string) GaugeMetric { return &p.version }

// queues are of all makes that a controller may be given.
var queues = map[string]func(known Store) Queue{
	"our RealFIFO": func(Store) Queue {
		return NewRealFIFOWithOptions(RealFIFOOptions{KeyFunction: MetaNamespaceKeyFunc, AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true})
	},
	"our DeltaFIFO": func(known Store) Queue {
		return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true})
	},
	"client-go's RealFIFO": func(Store) Queue {
		return clientgo.NewRealFIFOWithOptions(RealFIFOOptions{KeyFunction: MetaNamespaceKeyFunc, AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true})
	},
	"client-go's DeltaFIFO": func(known Store) Queue {
		return clientgo.NewDeltaFIFOWithOptions(DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true})
	},
}

func TestController_ProcessesWhatAnyQueueGives(t *testing.T) {
	for name, open := range queues {
		t.Run(name, func(t *testing.T) {
			withBoth(t, func(t *testing.T, m machinery, s *village) {
				s.Put("a")
				store, d := NewStore(DeletionHandlingMetaNamespaceKeyFunc), &diary{}
				apply := applier{store: store, handler: d}
				controller := m.controller(&Config{
					Queue: open(store), ListerWatcher: s, ObjectType: &corev1.ConfigMap{},
					Process: apply.process, ProcessBatch: apply.processBatch, FullResyncPeriod: time.Hour,
				})
				require.False(t, controller.HasSynced())
				require.Empty(t, controller.LastSyncResourceVersion())
				stop := running(controller.RunWithContext)
				d.Expect(t, "initial a@1")
				require.True(t, controller.HasSynced())
				require.True(t, IsDone(controller.HasSyncedChecker()))
				s.Put("a")
				synctest.Wait()
				s.Unobserved(func() {
					s.Delete("a")
					s.Put("b")
				})
				pass(time.Minute)
				require.Equal(t, []string{"default/b"}, store.ListKeys())
				pass(time.Hour)
				require.ElementsMatch(t, []string{"update a@1→2", "delete tombstone default/a of a@2", "add b@4", "update b@4→4"}, d.entries)
				require.Equal(t, "4", controller.LastSyncResourceVersion())
				stop()
			})
		})
	}
}

func TestInformer_FillsAStoreAndTellsOneHandler(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		d := &diary{}
		store, controller := m.simple(InformerOptions{
			ListerWatcher: s, ObjectType: &corev1.ConfigMap{}, Handler: d, Indexers: Indexers{NamespaceIndex: MetaNamespaceIndexFunc},
			ResyncPeriod: time.Hour,
			Transform: func(obj any) (any, error) {
				obj.(*corev1.ConfigMap).Data = map[string]string{"seen": "yes"}
				return obj, nil
			},
		})
		defer running(controller.RunWithContext)()
		d.Expect(t, "initial a@1")
		s.Put("a")
		s.Put("b")
		d.Expect(t, "update a@1→2", "add b@3")
		s.Unobserved(func() { s.Delete("b") })
		pass(time.Minute)
		d.Expect(t, "delete tombstone default/b of b@3", "update a@2→2")
		objs, err := store.(Indexer).ByIndex(NamespaceIndex, "default")
		require.NoError(t, err)
		require.Len(t, objs, 1)
		require.Equal(t, "yes", objs[0].(*corev1.ConfigMap).Data["seen"])
		pass(time.Hour)
		d.Expect(t, "update a@2→2")
	})
}

// moody is a ledger whose second Resync fails.
type moody struct {
	ledger
	resyncs int
}

func (m *moody) Resync() error {
	if m.resyncs++; m.resyncs == 2 {
		return errors.New("enough")
	}
	return nil
}

func TestReflector_AFailedResyncEndsListAndWatch(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		store := &moody{}
		r := m.reflector(s, &corev1.ConfigMap{}, store, ReflectorOptions{ResyncPeriod: time.Minute})
		for range 2 { // each begins with a list, and its own period
			store.resyncs = 0
			began := time.Now()
			require.NoError(t, r.ListAndWatchWithContext(t.Context()))
			require.Equal(t, 2, store.resyncs)
			require.Equal(t, 2*time.Minute, time.Since(began))
		}
	})
}

func TestReflector_ResyncsGoOnWhileListsFail(t *testing.T) {
	for _, m := range []machinery{theirMachinery, ourMachinery} {
		synctest.Test(t, func(t *testing.T) {
			s, l := newVillage(), &ledger{}
			r := m.reflector(s, &corev1.ConfigMap{}, l, ReflectorOptions{ResyncPeriod: time.Minute})
			defer running(r.RunWithContext)()
			for range 20 {
				s.failLists = append(s.failLists, errors.New("no list"))
			}
			s.Send(watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired}})
			pass(90 * time.Second)
			want := []string{"Replace 0 at 0"}
			if m.name == ourMachinery.name {
				want = append(want, "Resync")
			}
			l.Expect(t, want...)
		})
	}
}
