package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
	"glasswatch/cmd/foo-controller/client"
	"glasswatch/cmd/internal/layers"
	"glasswatch/cmd/internal/operator"
	"glasswatch/controller"
	"glasswatch/listwatch"
	"glasswatch/observe"
	"glasswatch/sharedinformer"
	"glasswatch/workqueue/limiters"
)

// agentName is the field manager of all writes, the source of all Events, and the name of the loop.
const agentName = "sample-controller"

// Controller gives each Foo its Deployment. Foos and Deployments have an informer each, and both lead to the key of a
// Foo.
type Controller struct {
	*layers.Layers
	workers     int
	kube        kubernetes.Interface
	client      func(namespace string) *client.Foos
	foos        *sharedinformer.Informer[*v1alpha1.Foo]
	deployments *sharedinformer.Informer[*appsv1.Deployment]
	logger      logr.Logger // that of Run's context
}

// New does not talk to the cluster. Each Foo is synced once per resync without a change; 0 is never.
func New(cfg *rest.Config, p operator.Parts, resync time.Duration) (*Controller, error) {
	c := &Controller{workers: max(p.Workers, 1)}
	var err1, err2, err3, err4, err5 error
	c.kube, err1 = kubernetes.NewForConfig(cfg)
	c.client, err2 = client.New(cfg)
	c.Layers, err3 = layers.New(cfg, p, agentName, v1alpha1.Scheme, c.reconcile,
		func(loop *controller.Options[listwatch.Key]) {
			loop.RateLimiter, loop.Observe = newRateLimiter(), c.tell
		})
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	c.Work = c.work
	c.foos, err4 = layers.NewInformer(c.Layers, v1alpha1.Resource, v1alpha1.Scheme,
		sharedinformer.Options[*v1alpha1.Foo]{Resource: singular(v1alpha1.Resource), ResyncPeriod: resync})
	deployments := appsv1.SchemeGroupVersion.WithResource("deployments")
	c.deployments, err5 = layers.NewInformer(c.Layers, deployments, nil,
		sharedinformer.Options[*appsv1.Deployment]{Resource: singular(deployments)})
	if err := errors.Join(err4, err5); err != nil {
		return nil, err
	}
	c.subscribe()
	return c, nil
}

// singular is how the errors of upstream's listers name a resource: as "foo.samplecontroller.k8s.io".
func singular(gvr schema.GroupVersionResource) schema.GroupResource {
	return schema.GroupResource{Group: gvr.Group, Resource: strings.TrimSuffix(gvr.Resource, "s")}
}

// newRateLimiter has upstream's figures: a key waits 5 ms, 10 ms and so on up to 1,000 s; all keys together are retried
// 50 times a second after the first 300.
func newRateLimiter() *limiters.MaxOfRateLimiter[listwatch.Key] {
	return limiters.NewMaxOfRateLimiter[listwatch.Key](
		limiters.NewItemExponentialFailureRateLimiter[listwatch.Key](5*time.Millisecond, 1000*time.Second),
		limiters.NewBucketRateLimiter[listwatch.Key](rate.NewLimiter(50, 300)))
}

// Run works until ctx ends. Then it gives the syncs under way three seconds to end.
func (c *Controller) Run(ctx context.Context) error {
	c.logger = klog.FromContext(ctx)
	c.logger.Info("Starting Foo controller")
	c.logger.Info("Waiting for informer caches to sync")
	return c.Layers.Run(ctx)
}

// work has the loop log nothing: upstream's lines take the place of its own.
func (c *Controller) work(ctx context.Context) (err error) {
	c.logger.Info("Starting workers", "count", c.workers)
	var loop sync.WaitGroup
	loop.Go(func() { err = c.Loop.Run(klog.NewContext(ctx, logr.Discard())) })
	c.logger.Info("Started workers")
	<-ctx.Done()
	c.logger.Info("Shutting down workers")
	loop.Wait()
	return err
}

func (c *Controller) subscribe() {
	foos := controller.EnqueueObject[*v1alpha1.Foo](c.Loop)
	layers.Handle(c.Layers, c.foos, sharedinformer.HandlerFuncs[*v1alpha1.Foo]{
		AddFunc: foos.OnAdd, UpdateFunc: foos.OnUpdate, // a Foo that is deleted leaves nothing to do
	})
	owners := controller.EnqueueOwner[*appsv1.Deployment](c.Loop, v1alpha1.Kind.GroupKind())
	layers.Handle(c.Layers, c.deployments, sharedinformer.HandlerFuncs[*appsv1.Deployment]{
		AddFunc: func(d *appsv1.Deployment, initial bool) {
			if c.hasOwner(d) {
				owners.OnAdd(d, initial)
			}
		},
		UpdateFunc: func(before, now *appsv1.Deployment) {
			if c.hasOwner(before) || c.hasOwner(now) {
				owners.OnUpdate(before, now)
			}
		},
		DeleteFunc: func(d sharedinformer.Deletion[*appsv1.Deployment]) {
			if d.HasObj() && c.hasOwner(d.Obj) {
				owners.OnDelete(d)
			}
		},
	})
}

// hasOwner is false for a Deployment that the garbage collector has yet to delete: its Foo is gone.
func (c *Controller) hasOwner(d *appsv1.Deployment) bool {
	ref := metav1.GetControllerOfNoCopy(d)
	if ref == nil {
		return false
	}
	_, err := c.foos.Lister().Namespace(d.Namespace).Get(ref.Name)
	if err != nil {
		c.logger.V(4).Info("Ignore orphaned object", "object", klog.KObj(d), "foo", ref.Name)
	}
	return err == nil
}

// tell says in upstream's words how the sync of a key ended.
func (c *Controller) tell(seen []observe.Observation[listwatch.Key]) {
	switch o := seen[0]; {
	case o.Step != observe.Reconciled:
	case o.Err == nil:
		c.logger.Info("Successfully synced", "objectName", o.Key)
	default:
		if panicked, ok := errors.AsType[*controller.PanicError](o.Err); ok {
			c.logger.Error(o.Err, "Observed a panic", "objectReference", o.Key, "stacktrace", string(panicked.Stack))
		}
		ctx := klog.NewContext(context.Background(), c.logger)
		utilruntime.HandleErrorWithContext(ctx, o.Err, "Error syncing; requeuing for later retry", "objectReference",
			o.Key)
	}
}
