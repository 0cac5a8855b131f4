package merged_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer/merged"
)

// A program that may read two namespaces, and not the cluster, has one informer, one store and one handler for both.
func ExampleNew() {
	config := func(namespace, name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	client := fake.NewClientset(config("blue", "x"), config("green", "y"), config("red", "z"))
	var sources []merged.Source[*corev1.ConfigMap]
	for _, ns := range []string{"blue", "green"} {
		configs := client.CoreV1().ConfigMaps(ns)
		sources = append(sources, merged.Source[*corev1.ConfigMap]{
			Name:      ns,
			Namespace: ns,
			ListerWatcher: listwatch.Funcs[*corev1.ConfigMap]{
				ListFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
					list, err := configs.List(ctx, opts)
					if err == nil {
						list.ResourceVersion = "1" // the fake has none
					}
					return list, err
				},
				WatchFunc: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
					return configs.Watch(ctx, opts)
				},
			},
		})
	}
	var opts merged.Options[*corev1.ConfigMap]
	opts.Reflector.DisableStreamingList = true
	informer, err := merged.New(sources, opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- informer.Run(ctx) }()
	if err := informer.WaitForSync(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(informer.Store().ListKeys())
	cancel()
	if err := <-stopped; err != nil {
		fmt.Println(err)
	}
	// Output: [blue/x green/y]
}
