// A program on controller-runtime that copies the key "text" of each ConfigMap into a Secret of the same name. It also
// notes when: each pass writes the Secret, which wakes the next one. Its lens says so at /debug/informers/.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"glasswatch/lens"
)

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	l := lens.New(lens.Options{})
	config.Wrap(l.Transport)
	newInformer := func(lw cache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		name := fmt.Sprintf("%T", obj)
		l.AddServer(name, lw)
		return l.WatchInformer(name, cache.NewSharedIndexInformer(lw, obj, resync, indexers))
	}
	newQueue := func(name string, limiter workqueue.TypedRateLimiter[ctrl.Request]) workqueue.TypedRateLimitingInterface[ctrl.Request] {
		return lens.WatchQueue(l, name, workqueue.NewTypedRateLimitingQueue(limiter))
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metrics.Options{BindAddress: "0"},
		Cache:   ctrlcache.Options{NewInformer: newInformer},
	})
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(manager).
		For(&corev1.ConfigMap{}).
		Owns(&corev1.Secret{}).
		WithOptions(controller.Options{NewQueue: newQueue}).
		Complete(&copier{manager.GetClient()}); err != nil {
		return err
	}
	stop, err := serve(l)
	if err != nil {
		return err
	}
	defer stop()
	return manager.Start(ctx)
}

// serve serves the lens on loopback, and prints where.
func serve(l *lens.Lens) (stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/informers/", l.Handler())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // it ends with the program
	fmt.Printf("http://%s/debug/informers/\n", listener.Addr())
	return func() { _ = server.Close() }, nil
}

type copier struct{ client.Client }

func (c *copier) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var from corev1.ConfigMap
	if err := c.Get(ctx, req.NamespacedName, &from); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	to := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name}}
	_, err := ctrl.CreateOrUpdate(ctx, c.Client, &to, func() error {
		to.Data = map[string][]byte{"text": []byte(from.Data["text"])}
		metav1.SetMetaDataAnnotation(&to.ObjectMeta, "copied-at", time.Now().Format(time.RFC3339Nano))
		return ctrl.SetControllerReference(&from, &to, c.Scheme())
	})
	return ctrl.Result{}, err
}
