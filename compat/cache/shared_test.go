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
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featuretesting "k8s.io/client-go/features/testing"
	clientgo "k8s.io/client-go/tools/cache"
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

func TestSharedInformer_ResyncsAfterAFirstListThatIsEmpty(t *testing.T) {
	for _, inOrder := range []bool{true, false} {
		t.Run(fmt.Sprint("in order ", inOrder), func(t *testing.T) {
			featuretesting.SetFeatureDuringTest(t, features.InOrderInformers, inOrder)
			withBoth(t, func(t *testing.T, m machinery, s *village) {
				informer := m.shared(s, &corev1.ConfigMap{}, SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second})
				d := &diary{}
				_, _ = informer.AddEventHandler(d)
				defer running(informer.RunWithContext)()
				s.Put("a")
				d.Expect(t, "add a@1")
				pass(31 * time.Second)
				d.Expect(t, "update a@1→1", "update a@1→1", "update a@1→1")
			})
		})
	}
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
