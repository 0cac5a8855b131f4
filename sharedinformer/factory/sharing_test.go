package factory

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
)

var configMapsGVR = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// onServer runs a test on an API server with five config maps that differ in their names only.
func onServer(t *testing.T, opts Options, tell func(t *testing.T, f *Factory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		server, listener := apiserver.New(apiserver.Options{}), apiserver.NewPipeListener()
		stopped := make(chan error, 1)
		go func() { stopped <- server.Serve(ctx, listener) }()
		defer func() { cancel(); <-stopped }()
		cfg := server.RESTConfigFor(listener)
		client, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		for n := range configs {
			_, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("config-", n), Labels: map[string]string{"app": "shop"}},
				Data:       map[string]string{"value": "a value of all"},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		f := New(cfg, opts)
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
