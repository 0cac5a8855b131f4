package install

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"glasswatch/tests/controlplane"
)

// A real server speaks HTTP/2 over TLS, and is started anew beneath the informers.
func TestInformers_ShareOnARealServerAlsoAfterItsRestart(t *testing.T) {
	plane := controlplane.StartSplit(t)
	client, err := kubernetes.NewForConfig(plane.Config(controlplane.Admin))
	require.NoError(t, err)
	create := func(names ...string) {
		for _, name := range names {
			controlplane.Eventually(t, "a config map", func() error {
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
	require.NoError(t, Into(factory, Options{
		Namespace: "default", TweakListOptions: func(opts *metav1.ListOptions) { opts.LabelSelector = "app=shop" },
	}, &corev1.ConfigMap{}))
	informer := factory.Core().V1().ConfigMaps().Informer()
	run(t, t.Context(), informer)
	require.Len(t, informer.GetStore().ListKeys(), 10, "and not kube-root-ca.crt")
	require.True(t, shares(t, informer, "default/config-8", "default/config-9"))

	arrives := func(name string) {
		create(name)
		controlplane.Eventually(t, "the event", func() error {
			if _, found, _ := informer.GetStore().GetByKey("default/" + name); !found {
				return fmt.Errorf("%s is not in the store", name)
			}
			return nil
		})
		require.True(t, shares(t, informer, "default/config-9", "default/"+name))
	}
	arrives("later-1")
	plane.KillAPIServer()
	require.NoError(t, plane.StartAPIServer())
	arrives("later-2")
}
