package cache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
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
)

// The second handler delays errors by the time since the last one: between a bubble's time and the real one, decades.
func init() { utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] }

// machinery is one of the two packages, by what tests of informers need of it.
type machinery struct {
	name       string
	shared     func(ListerWatcher, runtime.Object, SharedIndexInformerOptions) SharedIndexInformer
	controller func(*Config) Controller
	simple     func(InformerOptions) (Store, Controller)
	reflector  func(ListerWatcher, any, ReflectorStore, ReflectorOptions) runningReflector
	shutDown   func(SharedInformer, ResourceEventHandlerRegistration) error
	waitFor    func(context.Context, string, ...DoneChecker) bool
	waitSync   func(<-chan struct{}, ...InformerSynced) bool
	onError    WatchErrorHandlerWithContext
	typed      func(SharedIndexInformer) TypedSharedIndexInformer[*corev1.ConfigMap]
}

type runningReflector interface {
	RunWithContext(context.Context)
	ListAndWatchWithContext(context.Context) error
	LastSyncResourceVersion() string
	Name() string
	TypeDescription() string
}

var theirMachinery = machinery{
	name:       "client-go",
	shared:     clientgo.NewSharedIndexInformerWithOptions,
	controller: clientgo.New,
	simple:     clientgo.NewInformerWithOptions,
	reflector: func(lw ListerWatcher, example any, store ReflectorStore, o ReflectorOptions) runningReflector {
		return clientgo.NewReflectorWithOptions(lw, example, store, o)
	},
	shutDown: clientgo.ShutDownEventHandler,
	waitFor:  clientgo.WaitFor,
	waitSync: clientgo.WaitForCacheSync,
	onError:  clientgo.DefaultWatchErrorHandler,
	typed:    clientgo.NewTypedSharedIndexInformer[*corev1.ConfigMap],
}

var ourMachinery = machinery{
	name:       "glasswatch",
	shared:     NewSharedIndexInformerWithOptions,
	controller: New,
	simple:     NewInformerWithOptions,
	reflector: func(lw ListerWatcher, example any, store ReflectorStore, o ReflectorOptions) runningReflector {
		return NewReflectorWithOptions(lw, example, store, o)
	},
	shutDown: ShutDownEventHandler,
	waitFor:  WaitFor,
	waitSync: WaitForCacheSync,
	onError:  DefaultWatchErrorHandler,
	typed:    NewTypedSharedIndexInformer[*corev1.ConfigMap],
}

// withBoth tells a story with each package, in virtual time.
func withBoth(t *testing.T, tell func(t *testing.T, m machinery, s *village)) {
	t.Helper()
	for _, m := range []machinery{theirMachinery, ourMachinery} {
		t.Run("impl="+m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tell(t, m, newVillage()) })
		})
	}
}

// running runs f until the returned function is called, which waits for it.
func running(f func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f(ctx)
	}()
	synctest.Wait()
	return func() {
		cancel()
		<-ended
	}
}

// village is a server of ConfigMaps that cannot stream lists.
type village struct {
	mu       sync.Mutex
	version  int
	objects  map[string]*corev1.ConfigMap
	history  []watch.Event // of all versions, in order, later ones after the first compaction
	floor    int           // watches from before it are expired
	watchers []*watch.RaceFreeFakeWatcher
	// failLists and failWatches are returned once each.
	failLists, failWatches []error
}

func newVillage() *village { return &village{objects: map[string]*corev1.ConfigMap{}} }

func configMap(name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}}
}

// Put creates or updates.
func (s *village) Put(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	event := watch.Added
	if s.objects[name] != nil {
		event = watch.Modified
	}
	s.objects[name] = configMap(name, strconv.Itoa(s.version))
	s.tellLocked(watch.Event{Type: event, Object: s.objects[name]})
}

func (s *village) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	gone := s.objects[name].DeepCopy()
	gone.ResourceVersion = strconv.Itoa(s.version)
	delete(s.objects, name)
	s.tellLocked(watch.Event{Type: watch.Deleted, Object: gone})
}

// Send sends an event that is no change.
func (s *village) Send(event watch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watchers {
		w.Action(event.Type, event.Object)
	}
}

func (s *village) tellLocked(event watch.Event) {
	s.history = append(s.history, event)
	for _, w := range s.watchers {
		w.Action(event.Type, event.Object.DeepCopyObject())
	}
}

// Unobserved does verbs while no watch is there to see, and forgets the history, so that a list must follow.
func (s *village) Unobserved(verbs func()) {
	s.mu.Lock()
	watchers := s.watchers
	s.watchers = nil
	s.mu.Unlock()
	verbs()
	s.mu.Lock()
	s.history, s.floor = nil, s.version
	s.mu.Unlock()
	for _, w := range watchers {
		w.Error(&apierrors.NewResourceExpired("too old").ErrStatus)
		w.Stop()
	}
}

func pop(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}

func (s *village) List(metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := pop(&s.failLists); err != nil {
		return nil, err
	}
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}}
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		list.Items = append(list.Items, *s.objects[name].DeepCopy())
	}
	return list, nil
}

func (s *village) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := pop(&s.failWatches); err != nil {
		return nil, err
	}
	from, _ := strconv.Atoi(opts.ResourceVersion)
	if from < s.floor {
		return nil, apierrors.NewResourceExpired("too old")
	}
	w := watch.NewRaceFreeFake()
	for _, event := range s.history {
		if version, _ := strconv.Atoi(versionOf(event.Object)); version > from {
			w.Action(event.Type, event.Object.DeepCopyObject())
		}
	}
	s.watchers = append(s.watchers, w)
	return w, nil
}

func (s *village) IsWatchListSemanticsUnSupported() bool { return true }

// diary is a handler that writes down what it is told.
type diary struct {
	mu      sync.Mutex
	entries []string
}

func (d *diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, fmt.Sprintf(format, args...))
}

func (d *diary) OnAdd(obj any, initial bool) {
	if initial {
		d.write("initial %s", brief(obj))
	} else {
		d.write("add %s", brief(obj))
	}
}
func (d *diary) OnUpdate(oldObj, newObj any) {
	d.write("update %s→%s", brief(oldObj), versionOf(newObj))
}
func (d *diary) OnDelete(obj any) { d.write("delete %s", brief(obj)) }

func brief(obj any) string {
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		return fmt.Sprintf("tombstone %s of %s", tombstone.Key, brief(tombstone.Obj))
	}
	if obj == nil {
		return "nothing"
	}
	return obj.(metav1.Object).GetName() + "@" + versionOf(obj)
}

// Expect compares what was written since the last time.
func (d *diary) Expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	require.Equal(t, want, d.entries)
	d.entries = nil
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// plain options have a map for AddIndexers to write to: client-go panics without.
func plain() SharedIndexInformerOptions { return SharedIndexInformerOptions{Indexers: Indexers{}} }
