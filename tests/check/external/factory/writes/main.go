// A program with a bug: it writes to an object of the cache. It prints on how many objects the new label is then.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"glasswatch/compat/cache/install"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	if err := install.Into(factory, install.Options{}, &corev1.Service{}); err != nil {
		return err
	}
	services := factory.Core().V1().Services().Lister()
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return err
	}

	web, err := services.Services("default").Get("web-9")
	if err != nil {
		return err
	}
	web.Labels["seen"] = "yes" // This writes to the cache. Write to web.DeepCopy() instead.

	seen, err := services.List(labels.Set{"seen": "yes"}.AsSelector())
	if err != nil {
		return err
	}
	fmt.Println("labelled", len(seen))
	<-ctx.Done()
	return nil
}
