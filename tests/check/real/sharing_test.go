package real

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"glasswatch/compat/cache/install"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/check/controlplane"
)

// A real server speaks HTTP/2 over TLS, and is started anew beneath the informers.
func TestInformers_ShareOnARealServerAlsoAfterItsRestart(t *testing.T) {
	plane := controlplane.StartSplit(t)
	client, err := kubernetes.NewForConfig(plane.Config(controlplane.Admin))
	require.NoError(t, err)
	create := func(names ...string) {
		for _, name := range names {
			apiservertest.Eventually(t, "a config map", func() error {
				_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "shop"}},
					Data:       map[string]string{"value": "a value of all"},
				}, metav1.CreateOptions{})
				return err
			})
		}
	}
	for n := range 10 {
		create(fmt.Sprint("config-", n))
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"),
		informers.WithTweakListOptions(func(opts *metav1.ListOptions) { opts.LabelSelector = "app=shop" }))
	require.NoError(t, install.Into(factory, install.Options{
		Namespace: "default", TweakListOptions: func(opts *metav1.ListOptions) { opts.LabelSelector = "app=shop" },
	}, &corev1.ConfigMap{}))
	informer := factory.Core().V1().ConfigMaps().Informer()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	require.True(t, cache.WaitForCacheSync(ctx.Done(), informer.HasSynced))
	require.Len(t, informer.GetStore().ListKeys(), 10, "and not kube-root-ca.crt")
	require.True(t, shares(t, informer, "config-8", "config-9"))

	arrives := func(name string) {
		create(name)
		apiservertest.Eventually(t, "the event", func() error {
			if _, found, _ := informer.GetStore().GetByKey("default/" + name); !found {
				return fmt.Errorf("%s is not in the store", name)
			}
			return nil
		})
		require.True(t, shares(t, informer, "config-9", name))
	}
	arrives("later-1")
	plane.KillAPIServer()
	require.NoError(t, plane.StartAPIServer())
	arrives("later-2")
}

// shares says whether two ConfigMaps have one map of labels.
func shares(t *testing.T, informer cache.SharedIndexInformer, names ...string) bool {
	t.Helper()
	var labels []map[string]string
	for _, name := range names {
		obj, found, err := informer.GetStore().GetByKey("default/" + name)
		require.NoError(t, err)
		require.True(t, found, name)
		labels = append(labels, obj.(*corev1.ConfigMap).Labels)
		require.Equal(t, map[string]string{"app": "shop"}, labels[len(labels)-1])
	}
	return reflect.ValueOf(labels[0]).UnsafePointer() == reflect.ValueOf(labels[1]).UnsafePointer()
}
