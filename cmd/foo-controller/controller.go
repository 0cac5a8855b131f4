package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
	"glasswatch/cmd/foo-controller/client"
	"glasswatch/controller"
	"glasswatch/controller/metrics"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	informermetrics "glasswatch/sharedinformer/metrics"
	"glasswatch/workqueue/limiters"
)

// agentName is the field manager of all writes and the source of all Events.
const agentName = "sample-controller"

// Options of a Controller. The zero value serves all namespaces with one worker.
type Options struct {
	Namespace  string        // "" is all
	Workers    int           // 0 is 1
	Resync     time.Duration // how often each Foo is synced without a change; 0 is never
	Registerer prometheus.Registerer
	MayWrite   <-chan struct{} // closed once this process may write; nil is at once
}

// Controller gives each Foo its Deployment. Foos and Deployments have an informer each, and both lead to the key of a
// Foo.
type Controller struct {
	opts        Options
	kube        kubernetes.Interface
	client      func(namespace string) *client.Foos
	foos        *sharedinformer.Informer[*v1alpha1.Foo]
	deployments *sharedinformer.Informer[*appsv1.Deployment]
	loop        *controller.Controller[listwatch.Key]
	events      typedcorev1.EventsGetter
	recorder    record.EventRecorder // made by Run, as is the logger
	logger      logr.Logger
}

// New does not talk to the cluster.
func New(cfg *rest.Config, opts Options) (c *Controller, err error) {
	c = &Controller{opts: opts}
	if c.kube, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, err
	}
	if c.client, err = client.New(cfg); err != nil {
		return nil, err
	}
	foos := listwatch.Options{Namespace: opts.Namespace, Scheme: v1alpha1.Scheme}
	if c.foos, err = newInformer[*v1alpha1.Foo](cfg, v1alpha1.Resource, foos, opts.Resync); err != nil {
		return nil, err
	}
	deployments := appsv1.SchemeGroupVersion.WithResource("deployments")
	if c.deployments, err = newInformer[*appsv1.Deployment](cfg, deployments,
		listwatch.Options{Namespace: opts.Namespace}, 0); err != nil {
		return nil, err
	}
	loop := controller.Options[listwatch.Key]{Name: "foo", Workers: opts.Workers, RateLimiter: newRateLimiter(),
		Observe: c.tell}
	if opts.Registerer != nil {
		loop.Metrics = metrics.New(opts.Registerer, loop.Name)
		err := opts.Registerer.Register(informermetrics.NewCollector(func() []sharedinformer.Stats {
			return []sharedinformer.Stats{c.foos.Stats(), c.deployments.Stats()}
		}))
		if err != nil {
			return nil, err
		}
	}
	c.loop = controller.New[listwatch.Key](c, loop)
	// Events have a client of their own, so that many Events do not delay the writes.
	c.events, err = typedcorev1.NewForConfig(cfg)
	return c, err
}

// newInformer is what informer-gen would generate for each type.
func newInformer[T listwatch.Object](
	cfg *rest.Config, gvr schema.GroupVersionResource, opts listwatch.Options, resync time.Duration,
) (*sharedinformer.Informer[T], error) {
	lw, err := listwatch.NewForConfig[T](cfg, gvr, opts)
	if err != nil {
		return nil, err
	}
	// The errors of upstream's listers name the resource in the singular, as "foo.samplecontroller.k8s.io".
	resource := schema.GroupResource{Group: gvr.Group, Resource: strings.TrimSuffix(gvr.Resource, "s")}
	return sharedinformer.New(listwatch.ListerWatcher[T](lw), sharedinformer.Options[T]{
		Name: gvr.Resource, Resource: resource, ResyncPeriod: resync}), nil
}

// newRateLimiter has upstream's figures: a key waits 5 ms, 10 ms and so on up to 1,000 s; all keys together are retried
// 50 times a second after the first 300.
func newRateLimiter() *limiters.MaxOfRateLimiter[listwatch.Key] {
	return limiters.NewMaxOfRateLimiter[listwatch.Key](
		limiters.NewItemExponentialFailureRateLimiter[listwatch.Key](5*time.Millisecond, 1000*time.Second),
		limiters.NewBucketRateLimiter[listwatch.Key](rate.NewLimiter(50, 300)))
}

// Ready returns nil while both caches are filled and follow the cluster.
func (c *Controller) Ready() error {
	return errors.Join(ready(c.foos), ready(c.deployments))
}

func ready[T listwatch.Object](informer *sharedinformer.Informer[T]) error {
	if err := informer.LastError(); err != nil {
		return fmt.Errorf("%s: synced %t: %w", informer.Name(), informer.HasSynced(), err)
	}
	if !informer.HasSynced() {
		return fmt.Errorf("%s: not synced yet", informer.Name())
	}
	return nil
}

// Run works until ctx ends. Then it lets the workers finish their keys, and returns when all its goroutines have ended.
func (c *Controller) Run(ctx context.Context) error {
	c.logger = klog.FromContext(ctx)
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	defer broadcaster.Shutdown()
	broadcaster.StartStructuredLogging(0)
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.events.Events("")})
	c.recorder = broadcaster.NewRecorder(v1alpha1.Scheme, corev1.EventSource{Component: agentName})
	layers, stop := context.WithCancel(context.WithoutCancel(ctx))
	var informers errgroup.Group
	informers.Go(func() error { return c.foos.Run(layers) })
	informers.Go(func() error { return c.deployments.Run(layers) })
	defer func() { stop(); informers.Wait() }()

	c.logger.Info("Starting Foo controller")
	c.logger.Info("Waiting for informer caches to sync")
	if err := errors.Join(c.foos.WaitForSync(ctx), c.deployments.WaitForSync(ctx)); err != nil {
		return ended(ctx, err)
	}
	if c.opts.MayWrite != nil {
		select {
		case <-c.opts.MayWrite:
		case <-ctx.Done():
			return nil
		}
	}
	if err := c.subscribe(); err != nil {
		return err
	}
	c.logger.Info("Starting workers", "count", max(c.opts.Workers, 1))
	defer c.logger.Info("Shutting down workers")
	// The loop logs nothing: what upstream says of a key, tell says.
	return ended(ctx, c.loop.Run(klog.NewContext(ctx, logr.Discard())))
}

// ended returns nil for what happens when the program is asked to end. The next start finds unfinished work again.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// subscribe is called once this process may write, so that one that may not keeps no queue of keys. The handlers get
// the whole caches.
func (c *Controller) subscribe() error {
	foos := controller.EnqueueObject[*v1alpha1.Foo](c.loop)
	_, err := c.foos.AddHandler(sharedinformer.HandlerFuncs[*v1alpha1.Foo]{
		AddFunc: foos.OnAdd, UpdateFunc: foos.OnUpdate, // a Foo that is deleted leaves nothing to do
	}, sharedinformer.HandlerOptions{})
	if err != nil {
		return err
	}
	owners := controller.EnqueueOwner[*appsv1.Deployment](c.loop, v1alpha1.Kind.GroupKind())
	_, err = c.deployments.AddHandler(sharedinformer.HandlerFuncs[*appsv1.Deployment]{
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
	}, sharedinformer.HandlerOptions{})
	return err
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
func (c *Controller) tell(o controller.Observation[listwatch.Key]) {
	switch {
	case o.What != "reconciled":
	case o.Err == nil:
		c.logger.Info("Successfully synced", "objectName", o.Key)
	default:
		ctx := klog.NewContext(context.Background(), c.logger)
		utilruntime.HandleErrorWithContext(ctx, o.Err, "Error syncing; requeuing for later retry", "objectReference",
			o.Key)
	}
}
