package resume_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
)

// A program that must not miss a ConfigMap dies before its work on the second is done. When it starts again, that one
// comes again.
func ExampleNewWatch() {
	ctx, cancel := context.WithCancel(context.Background())
	server, listener := apiserver.New(apiserver.Options{}), apiserver.NewPipeListener()
	stopped := make(chan error)
	go func() { stopped <- server.Serve(ctx, listener) }()
	cfg := server.RESTConfigFor(listener)
	maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
	folder, _ := os.MkdirTemp("", "resumable")
	defer os.RemoveAll(folder)

	lw, _ := listwatch.NewForConfig[*corev1.ConfigMap](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"),
		listwatch.Options{Namespace: "default"})
	cluster, err := resume.ClusterID(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	options := resume.Options{Path: filepath.Join(folder, "configmaps"), Cluster: cluster}

	// start is what the program does first: resume or, if it cannot, list.
	start := func() *resume.Watch[*corev1.ConfigMap] {
		w, err := resume.NewWatch(ctx, lw, metav1.ListOptions{}, options)
		if errors.Is(err, resume.ErrNoPosition) {
			list, _ := listwatch.ListAll(ctx, lw, metav1.ListOptions{}, 0)
			fmt.Println("listed", len(list.Items))
			w, err = resume.NewWatch(ctx, lw, metav1.ListOptions{ResourceVersion: list.ResourceVersion}, options)
		}
		if err != nil {
			log.Fatal(err)
		}
		return w
	}

	w := start()
	for _, name := range []string{"one", "two", "three"} {
		_, _ = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	}
	ev, _ := w.Next()
	fmt.Println("work on", ev.Object.Name, w.Commit(ev.ResourceVersion))
	ev, _ = w.Next()
	fmt.Println("work on", ev.Object.Name, "and die")
	_ = w.Close()

	w = start()
	for range 2 {
		ev, _ := w.Next()
		fmt.Println("work on", ev.Object.Name, w.Commit(ev.ResourceVersion))
	}
	_ = w.Close()
	_ = os.Remove(options.Path)

	cancel()
	<-stopped
	// Output:
	// listed 0
	// work on one <nil>
	// work on two and die
	// work on two <nil>
	// work on three <nil>
}
