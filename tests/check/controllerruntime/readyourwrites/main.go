// Command readyourwrites shows a read of controller-runtime's client that waits for ever: docs/results/read-your-writes.md. On the cluster of
// $KUBECONFIG it makes and deletes two Services in the namespace default.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

func main() {
	err := show(ctrl.SetupSignalHandler(), ctrl.GetConfigOrDie(), true, &network{}, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// patience of the reads that may wait for ever. The others have more, as a machine may be busy.
const patience = 5 * time.Second

// show deletes a Service while the watch of Services is broken, and then reads it three times. Then another Service is written, and it reads
// again.
func show(ctx context.Context, cfg *rest.Config, readYourWrites bool, network *network, out io.Writer) error {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(network.around)
	running, err := cluster.New(cfg, func(o *cluster.Options) {
		o.Client.Cache = &client.CacheOptions{EnableReadYourWritesConsistency: &readYourWrites}
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- running.Start(ctx) }()
	defer func() { cancel(); <-ended }()
	running.GetCache().WaitForCacheSync(ctx)
	c := running.GetClient()

	service := newService("gone")
	if err := c.Create(ctx, service); err != nil {
		return err
	}
	defer c.Delete(context.WithoutCancel(ctx), newService("gone")) // if it fails midway
	read := func(patience time.Duration) {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		fmt.Fprintln(out, "get:", c.Get(limited, client.ObjectKeyFromObject(service), &corev1.Service{}))
	}
	read(time.Minute)
	network.cut()
	if err := c.Delete(ctx, service); err != nil {
		return err
	}
	if err := network.mend(); err != nil {
		return err
	}
	fmt.Fprintln(out, "deleted, while the watch was broken")
	if err := gone(ctx, running.GetCache(), service); err != nil {
		return err
	}
	fmt.Fprintln(out, "the cache has listed, and knows")
	for range 3 {
		read(patience)
	}
	other := newService("other")
	if err := c.Create(ctx, other); err != nil {
		return err
	}
	fmt.Fprintln(out, "another Service is written")
	read(time.Minute)
	return c.Delete(ctx, other)
}

// gone waits until the cache, read directly, has no such object.
func gone(ctx context.Context, cached client.Reader, obj client.Object) error {
	return wait.PollUntilContextTimeout(ctx, time.Second, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := cached.Get(ctx, client.ObjectKeyFromObject(obj), obj.DeepCopyObject().(client.Object))
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func newService(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
}
