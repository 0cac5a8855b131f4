package checkpoint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/checkpoint"
)

// A program starts twice. The second time it knows what there was, and asks only for what has changed.
func ExampleNew() {
	ctx, cancel := context.WithCancel(context.Background())
	server, listener := apiserver.New(apiserver.Options{}), apiserver.NewPipeListener()
	stopped := make(chan error)
	go func() { stopped <- server.Serve(ctx, listener) }()
	cfg := server.RESTConfigFor(listener)
	maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
	folder, _ := os.MkdirTemp("", "checkpoint")
	defer os.RemoveAll(folder)
	cluster, _ := resume.ClusterID(ctx, cfg)

	run := func(version string) {
		lw, _ := listwatch.NewForConfig[*corev1.ConfigMap](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{Namespace: "default"})
		informer, _ := checkpoint.New(lw, sharedinformer.Options[*corev1.ConfigMap]{}, checkpoint.Options{
			Path: filepath.Join(folder, "configmaps"), Cluster: cluster,
		})
		informerCtx, stop := context.WithCancel(ctx)
		done := make(chan error)
		go func() { done <- informer.Run(informerCtx) }()
		_ = informer.WaitForSync(ctx)
		_ = informer.WaitForResourceVersion(ctx, version)
		stats := informer.Stats()
		fmt.Println(stats.Objects, "objects, lists:", stats.Reflector.StreamingLists+stats.Reflector.PagedLists)
		stop()
		<-done
	}
	create := func(name string) string {
		made, _ := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return made.ResourceVersion
	}
	run(create("a"))
	run(create("b"))

	cancel()
	<-stopped
	// Output:
	// 1 objects, lists: 1
	// 2 objects, lists: 0
}
