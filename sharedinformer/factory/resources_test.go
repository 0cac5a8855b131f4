package factory

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

func TestFactory_AsksTheMapperForWhatIsNotBuiltIn(t *testing.T) {
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	types := scheme.Scheme
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(gv.WithKind("Widget"), gv.WithResource("widgetries"), gv.WithResource("widgetry"), meta.RESTScopeRoot)
	f := New(&rest.Config{}, Options{RESTMapper: mapper, Scheme: types})
	require.False(t, f.scopeOf(gv.WithResource("widgetries")))
	require.True(t, f.scopeOf(gv.WithResource("unheard-of")))
	gvr, namespaced, err := resourceOf[*corev1.Binding](f) // in the scheme, though no list of its own
	require.NoError(t, err)
	require.Equal(t, schema.GroupVersionResource{Version: "v1", Resource: "bindings"}, gvr)
	require.True(t, namespaced)
}

// callingBack is a mapper that looks at the factory's mutex when it is asked, as one that asks a server gives others time to.
type callingBack struct {
	meta.RESTMapper
	asked func()
}

func (m callingBack) KindFor(gvr schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	m.asked()
	return m.RESTMapper.KindFor(gvr)
}

func TestFactory_AsksTheMapperWithNoLockHeld(t *testing.T) {
	var f *Factory
	asked := 0
	mapper := callingBack{meta.NewDefaultRESTMapper(nil), func() {
		asked++
		free := f.mu.TryLock()
		if free {
			f.mu.Unlock()
		}
		require.True(t, free, "a mapper may take its time and may use the factory")
	}}
	f = New(&rest.Config{}, Options{RESTMapper: mapper})
	for range 2 {
		_, err := f.ForResource(widgetsGVR)
		require.NoError(t, err)
		_, err = f.ForMetadata(widgetsGVR)
		require.NoError(t, err)
	}
	require.Equal(t, 2, asked, "once for each informer")
}

func TestFactory_KnowsEveryResourceThatClientGosFactoryKnows(t *testing.T) {
	theirs := informers.NewSharedInformerFactory(nil, 0)
	found := 0
	for gvk, goType := range scheme.Scheme.AllKnownTypes() {
		gvr := plural(gvk)
		if _, err := theirs.ForResource(gvr); err != nil {
			continue
		}
		found++
		known, ok := builtin(gvr)
		require.True(t, ok, "%v", gvr)
		require.Equal(t, reflect.PointerTo(goType), known)
	}
	require.Greater(t, found, 100)
	services, namespaced, err := resourceOf[*corev1.Service](New(&rest.Config{}, Options{}))
	require.NoError(t, err)
	require.Equal(t, servicesGVR, services)
	require.True(t, namespaced)
	_, ok := builtin(widgetsGVR)
	require.False(t, ok)
}

// A server says of each resource whether it belongs to a namespace.
func TestFactory_KnowsTheScopeOfBuiltInResources(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		client, err := discovery.NewDiscoveryClientForConfig(server.Config)
		require.NoError(t, err)
		lists, err := client.ServerPreferredResources()
		require.NoError(t, err)
		f, compared := New(server.Config, Options{}), 0
		for _, list := range lists {
			gv, err := schema.ParseGroupVersion(list.GroupVersion)
			require.NoError(t, err)
			for _, r := range list.APIResources {
				gvr := gv.WithResource(r.Name)
				if _, ok := builtin(gvr); ok {
					compared++
					require.Equal(t, r.Namespaced, f.scopeOf(gvr), "%v", gvr)
				}
			}
		}
		require.Greater(t, compared, 10)
	})
}
