// A program that prints the Services of a cluster, and what becomes of them.
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
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
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
	services := factory.Core().V1().Services()
	if _, err := services.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { fmt.Println("add", name(obj)) },
		UpdateFunc: func(_, obj any) { fmt.Println("update", name(obj)) },
		DeleteFunc: func(obj any) { fmt.Println("delete", name(obj)) },
	}); err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return err
	}
	all, err := services.Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	fmt.Println("synced", len(all))
	<-ctx.Done()
	return nil
}

func name(obj any) string {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return unknown.Key
	}
	service := obj.(*corev1.Service)
	return service.Namespace + "/" + service.Name
}
