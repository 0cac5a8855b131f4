package main

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

const (
	workers = 5
	// rediscovery is how soon garbage of a CustomResourceDefinition is collected; upstream takes 30 s.
	rediscovery = 2 * time.Second
)

// startControllers returns at once; stop waits till they have ended.
func startControllers(ctx context.Context, c *cluster) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	cfg, err := c.config()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	typed := informers.NewSharedInformerFactory(client, 0)
	partial := metadatainformer.NewSharedInformerFactory(objects, 0)
	started := make(chan struct{})
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, objects,
		restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		garbagecollector.DefaultIgnoredResources(), informerfactory.NewInformerFactory(typed, partial), started)
	if err != nil {
		return nil, err
	}
	namespaces := namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
		typed.Core().V1().Namespaces(), time.Minute, corev1.FinalizerKubernetes)
	typed.Start(ctx.Done())
	partial.Start(ctx.Done())
	close(started)

	var running sync.WaitGroup
	running.Go(func() { collector.Run(ctx, workers, 30*time.Second) })
	running.Go(func() { collector.Sync(ctx, client.Discovery(), rediscovery) })
	running.Go(func() { namespaces.Run(ctx, workers) })
	return func() {
		cancel()
		running.Wait()
	}, nil
}
