package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	appsinformers "k8s.io/client-go/informers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	foosinformers "k8s.io/sample-controller/pkg/generated/informers/externalversions/samplecontroller/v1alpha1"

	"glasswatch/lens"
)

// why is the program's lens. What uses it is in main and NewController: what a user adds to them, the test puts there.
var why = lens.New(lens.Options{On: true})

type watchedFoos struct{ foosinformers.FooInformer }

func (w watchedFoos) Informer() cache.SharedIndexInformer {
	return why.WatchInformer("foos", w.FooInformer.Informer())
}

type watchedDeployments struct {
	appsinformers.DeploymentInformer
}

func (w watchedDeployments) Informer() cache.SharedIndexInformer {
	return why.WatchInformer("deployments", w.DeploymentInformer.Informer())
}

func watchedQueue(limiter workqueue.TypedRateLimiter[cache.ObjectName]) workqueue.TypedRateLimitingInterface[cache.ObjectName] {
	return lens.WatchQueue(why, "foos", workqueue.NewTypedRateLimitingQueue(limiter))
}

// serve serves the page, and prints where.
func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/informers/", why.Handler())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // it ends with the program
	fmt.Printf("http://%s/debug/informers/\n", listener.Addr())
}
