package factory

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

var configMapsGVR = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// onServer runs a test on an API server with five config maps that differ in their names only.
func onServer(t *testing.T, opts Options, tell func(t *testing.T, f *Factory)) {
	t.Helper()
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		for n := range configs {
			obj := apiservertest.ConfigMap(fmt.Sprint("config-", n), "a value of all")
			obj.Labels = map[string]string{"app": "shop"}
			server.PutObject(obj)
		}
		f := New(server.Config, opts)
		defer f.Shutdown()
		tell(t, f)
	})
}

// configs is how many config maps there are.
const configs = 20

// shares reports whether most config maps have their map of labels in common. The first few do not: a part that came
// once need not be remembered.
func shares(t *testing.T, informer GenericInformer) bool {
	t.Helper()
	distinct := map[unsafe.Pointer]bool{}
	for n := range configs {
		obj, err := informer.Lister().Namespace("default").Get(fmt.Sprint("config-", n))
		require.NoError(t, err)
		require.Equal(t, map[string]string{"app": "shop"}, obj.GetLabels())
		distinct[reflect.ValueOf(obj.GetLabels()).UnsafePointer()] = true
	}
	return len(distinct) < configs/2
}

func TestFactory_SharesEqualPartsUnlessATransformMayWriteToThem(t *testing.T) {
	same := func(obj listwatch.Object) (listwatch.Object, error) { return obj, nil }
	tweak := func(*metav1.ListOptions) {}
	for name, c := range map[string]struct {
		opts Options
		want bool
	}{
		"by default":                    {Options{}, true},
		"through a wrapper":             {Options{TweakListOptions: tweak}, true},
		"not if it is off":              {Options{DisableSharing: true}, false},
		"not with a transform":          {Options{Transform: same}, false},
		"with one that copies on write": {Options{Transform: same, TransformCopiesOnWrite: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			onServer(t, c.opts, func(t *testing.T, f *Factory) {
				_, err := InformerFor[*corev1.ConfigMap](f)
				require.NoError(t, err)
				informer, err := f.ForResource(configMapsGVR)
				require.NoError(t, err)
				f.Start(t.Context())
				require.NoError(t, f.WaitForSync(t.Context()))
				require.Equal(t, c.want, shares(t, informer))
			})
		})
	}
}

// The fields of an unstructured object are all in one map: any transform writes to it.
func TestFactory_UnstructuredObjectsShareNothingWithATransform(t *testing.T) {
	f := New(&rest.Config{}, Options{Transform: func(obj listwatch.Object) (listwatch.Object, error) { return obj, nil }, TransformCopiesOnWrite: true})
	require.True(t, f.shares(entryID{configMapsGVR, typed}))
	require.False(t, f.shares(entryID{configMapsGVR, unstructuredForm}))
}
