package sharedinformer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
)

func TestInformerName_IsOneInTheProcess(t *testing.T) {
	n, err := NewInformerName("scheduler")
	require.NoError(t, err)
	require.Equal(t, "scheduler", n.Name())
	_, err = NewInformerName("scheduler")
	require.ErrorIs(t, err, ErrNameTaken)
	_, err = NewInformerName("")
	require.Error(t, err)

	full, err := n.Reserve("pods.v1")
	require.NoError(t, err)
	require.Equal(t, "scheduler/pods.v1", full)
	_, err = n.Reserve("pods.v1")
	require.ErrorIs(t, err, ErrNameTaken)
	n.Free("pods.v1")
	_, err = n.Reserve("pods.v1")
	require.NoError(t, err)

	n.Release()
	n.Release()
	_, err = n.Reserve("nodes.v1")
	require.ErrorContains(t, err, "released")
	again, err := NewInformerName("scheduler")
	require.NoError(t, err)
	again.Release()
}

func TestInformerName_KeepsTwoFactoriesApart(t *testing.T) {
	name, err := NewInformerName("operator")
	require.NoError(t, err)
	defer name.Release()
	onTheWire(t, FactoryOptions{Name: name}, func(t *testing.T, f *Factory, _ *wire) {
		informer, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		require.Equal(t, "operator/services.v1", informer.Name())
		other := NewFactory(f.cfg, FactoryOptions{Name: name})
		defer other.Shutdown()
		_, err = InformerFor[*corev1.Service](other)
		require.ErrorIs(t, err, ErrNameTaken)
		require.NoError(t, f.Stop(servicesGVR))
		_, err = InformerFor[*corev1.Service](other)
		require.NoError(t, err, "the name is free once its informer has stopped")
		_, err = InformerFor[*corev1.Node](f)
		require.NoError(t, err)
	})
	for _, resource := range []string{"services.v1", "nodes.v1"} {
		_, err := name.Reserve(resource)
		require.NoError(t, err, "Shutdown frees the names")
	}
}

// widget is a custom resource with a type of its own.
type widget struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (w *widget) DeepCopyObject() k8sruntime.Object { out := *w; return &out }

func TestFactory_TypedUnstructuredAndMetadataInformersOnOneResourceHaveNamesOfTheirOwn(t *testing.T) {
	scheme := k8sruntime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, &widget{})
	onTheWire(t, FactoryOptions{Scheme: scheme}, func(t *testing.T, f *Factory, _ *wire) {
		untyped, err := f.ForResource(widgetsGVR)
		require.NoError(t, err)
		typed, err := InformerFor[*widget](f)
		require.NoError(t, err)
		metadata, err := f.ForMetadata(widgetsGVR)
		require.NoError(t, err)
		names := []string{typed.Name(), untyped.Name(), metadata.Name()}
		require.Equal(t, []string{
			"widgets.v1.example.com", "widgets.v1.example.com (unstructured)", "widgets.v1.example.com (metadata)",
		}, names)
	})
}

func TestFactory_KnowsBuiltInTypesBesideAnySchemeOfItsOwn(t *testing.T) {
	onTheWire(t, FactoryOptions{Scheme: k8sruntime.NewScheme()}, func(t *testing.T, f *Factory, _ *wire) {
		typed, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		byName, err := f.ForResource(nodesGVR)
		require.NoError(t, err)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		require.Equal(t, 2, typed.Store().Len())
		require.Equal(t, 1, byName.Stats().Objects)
	})
}

func TestNameSet_GivesTheLowestFreeNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s nameSet
		var taken []string
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b", "a#2"}).Draw(t, "name")
				want := name
				for n := 2; slices.Contains(taken, want); n++ {
					want = fmt.Sprintf("%s#%d", name, n)
				}
				if got := s.take(name); got != want {
					t.Fatalf("want %s, got %s of %v", want, got, taken)
				}
				taken = append(taken, want)
			},
			"give": func(t *rapid.T) {
				if len(taken) == 0 {
					t.Skip("none is taken")
				}
				at := rapid.IntRange(0, len(taken)-1).Draw(t, "at")
				s.give(taken[at])
				taken = slices.Delete(taken, at, at+1)
			},
			"": func(t *rapid.T) {
				if len(taken) == 0 && len(s.used)+len(s.free) > 0 {
					t.Fatalf("%v %v is left of nothing", s.used, s.free)
				}
			},
		})
	})
}

// subscriber has methods for handlers of both kinds.
type subscriber struct{}

func (*subscriber) add(any)                            {}
func (*subscriber) update(any, any)                    {}
func (*subscriber) typedAdd(*config, bool)             {}
func (*subscriber) typedUpdate(*config, *config)       {}
func (*subscriber) OnAdd(obj *config, initial bool)    {}
func (*subscriber) OnUpdate(oldObj, newObj *config)    {}
func (*subscriber) OnDelete(deleted Deletion[*config]) {}

func TestHandlerName_OfFunctionsIsClientGos(t *testing.T) {
	var s subscriber
	theirs := cache.NewSharedIndexInformer(&cache.ListWatch{}, &config{}, 0, nil)
	ours := New[*config](newServer(), Options[*config]{})
	for _, tc := range []struct {
		theirs cache.ResourceEventHandlerFuncs
		ours   HandlerFuncs[*config]
		want   string
	}{
		{
			cache.ResourceEventHandlerFuncs{AddFunc: func(any) {}, DeleteFunc: func(any) {}},
			HandlerFuncs[*config]{AddFunc: func(*config, bool) {}, DeleteFunc: func(Deletion[*config]) {}},
			"glasswatch/sharedinformer.TestHandlerName_OfFunctionsIsClientGos",
		},
		{
			cache.ResourceEventHandlerFuncs{AddFunc: s.add, UpdateFunc: s.update},
			HandlerFuncs[*config]{AddFunc: s.typedAdd, UpdateFunc: s.typedUpdate},
			"glasswatch/sharedinformer.(*subscriber)",
		},
	} {
		r, err := theirs.AddEventHandler(tc.theirs)
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(r.HasSyncedChecker().Name(), "event handler "+tc.want), r.HasSyncedChecker().Name())
		reg, err := ours.AddHandler(tc.ours, HandlerOptions{})
		require.NoError(t, err)
		require.Equal(t, tc.want, reg.Name())
	}
	reg, err := ours.AddHandler(&s, HandlerOptions{})
	require.NoError(t, err)
	require.Equal(t, "glasswatch/sharedinformer.subscriber", reg.Name())
	reg, err = ours.AddHandler(HandlerFuncs[*config]{AddFunc: s.typedAdd, UpdateFunc: func(_, _ *config) {}}, HandlerOptions{})
	require.NoError(t, err)
	require.Contains(t, reg.Name(), "+", "from two places")
}

func TestHandler_TenThousandOfOneNameRegisterInNoTime(t *testing.T) {
	i := New[*config](newServer(), Options[*config]{})
	for n := range 10_000 {
		r, err := i.AddHandler(HandlerFuncs[*config]{}, HandlerOptions{Name: "web"})
		require.NoError(t, err)
		if n > 0 {
			require.Equal(t, fmt.Sprintf("web#%d", n+1), r.Name())
		}
	}
}
