package ingress

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"glasswatch/controller"
	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/metrics"
)

// Options of a Controller. The zero value serves all namespaces with one worker.
type Options struct {
	Config     Config
	Namespace  string        // "" is all
	Workers    int           // 0 is 1
	Resync     time.Duration // how often every Service is looked at again; 0 is never
	Registerer prometheus.Registerer
	// MayWrite is closed once this process may write; nil is at once. Until then the caches fill and follow the cluster,
	// and nothing is queued.
	MayWrite <-chan struct{}
	// Trace, if set, is told of each change at each layer, from many goroutines. It must not block.
	Trace func(Trace)
}

// drainTimeout leaves the rest of the program two of the five seconds in which it has to be gone.
const drainTimeout = 3 * time.Second

// Controller is the seven layers put together.
type Controller struct {
	services   *sharedinformer.Informer[*corev1.Service]
	ingresses  *sharedinformer.Informer[*networkingv1.Ingress]
	loop       *controller.Controller[listwatch.Key]
	events     record.EventBroadcaster
	reconciler *Reconciler
	opts       Options
}

// New returns an error for options that cannot work; it does not talk to the cluster.
func New(cfg *rest.Config, opts Options) (*Controller, error) {
	if err := opts.Config.Validate(); err != nil {
		return nil, err
	}
	client, err := networkingv1client.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	// Of its own, so that a flood of Events does not hold up the writes that they are about.
	events, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	c := &Controller{opts: opts}
	if c.services, err = newInformer[*corev1.Service](cfg, corev1.SchemeGroupVersion.WithResource("services"), "Service", opts); err != nil {
		return nil, err
	}
	if c.ingresses, err = newInformer[*networkingv1.Ingress](cfg, networkingv1.SchemeGroupVersion.WithResource("ingresses"), "Ingress", opts); err != nil {
		return nil, err
	}
	if opts.Registerer != nil {
		err := opts.Registerer.Register(metrics.NewCollector(func() []sharedinformer.Stats {
			return []sharedinformer.Stats{c.services.Stats(), c.ingresses.Stats()}
		}))
		if err != nil {
			return nil, err
		}
	}
	c.events = record.NewBroadcaster()
	c.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: events.Events("")})
	recorder := c.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: FieldManager})

	c.reconciler, err = NewReconciler(opts.Config, c.services.Store(), c.ingresses.Store(), client, recorder)
	if err != nil {
		return nil, err
	}
	c.reconciler.trace = opts.Trace
	c.loop = controller.New[listwatch.Key](c.reconciler, controller.Options[listwatch.Key]{
		Name: "ingress", Workers: opts.Workers, Registerer: opts.Registerer,
		DrainTimeout: drainTimeout,
	})
	return c, nil
}

// maxBackoff is how long a list or watch that keeps failing waits, give or take: who has granted a right or brought the
// API server back does not want to wait for long.
const maxBackoff = 10 * time.Second

func newInformer[T listwatch.Object](cfg *rest.Config, gvr schema.GroupVersionResource, kind string, opts Options) (*sharedinformer.Informer[T], error) {
	lw, err := listwatch.NewForConfig[T](cfg, gvr, listwatch.Options{
		Namespace: opts.Namespace, Decoder: memo.New(memo.Options{}), // nobody writes to the cached objects
	})
	if err != nil {
		return nil, err
	}
	informerOptions := sharedinformer.Options[T]{Name: gvr.Resource, Resource: gvr.GroupResource(), ResyncPeriod: opts.Resync}
	informerOptions.Reflector.Backoff.Max = maxBackoff
	if opts.Trace == nil {
		return sharedinformer.New(listwatch.ListerWatcher[T](lw), informerOptions), nil
	}
	informerOptions.Trace = func(e sharedinformer.TraceEvent) {
		opts.Trace(Trace{Layer: e.Layer, Kind: kind, Action: e.Action, Key: e.Key, ResourceVersion: e.ResourceVersion})
	}
	return sharedinformer.New[T](traced[T]{lw, func(action string, key listwatch.Key, rv string) {
		opts.Trace(Trace{Layer: "listwatch", Kind: kind, Action: action, Key: key, ResourceVersion: rv})
	}}, informerOptions), nil
}

// subscribe makes every change of an object of T a look at its key. An Ingress
// has its Service's name, so both kinds lead to the same key.
func subscribe[T listwatch.Object](c *Controller, informer *sharedinformer.Informer[T]) error {
	handler := controller.EnqueueObject[T](c.loop)
	if c.opts.Trace != nil {
		handler = tracedHandler[T]{handler, c.opts.Trace}
	}
	_, err := informer.AddHandler(handler, sharedinformer.HandlerOptions{Name: "ingress-controller"})
	return err
}

// Ready returns nil while both caches are filled and follow the cluster, else an error that says what is missing and why.
// Whether this process may write has no part in it.
func (c *Controller) Ready() error {
	return errors.Join(ready(c.services), ready(c.ingresses))
}

func ready[T listwatch.Object](informer *sharedinformer.Informer[T]) error {
	err := informer.LastError()
	switch {
	case err != nil && informer.HasSynced():
		return fmt.Errorf("%s: synced, but not up to date: %w", informer.Name(), err)
	case err != nil:
		return fmt.Errorf("%s: not synced: %w", informer.Name(), err)
	case !informer.HasSynced():
		return fmt.Errorf("%s: not synced yet", informer.Name())
	default:
		return nil
	}
}

// Run works until ctx ends, lets the workers finish what they are at, and
// returns when everything it started has stopped.
func (c *Controller) Run(ctx context.Context) error {
	defer c.events.Shutdown()
	layers, stopLayers := context.WithCancel(context.WithoutCancel(ctx))
	var informers errgroup.Group
	informers.Go(func() error { return c.services.Run(layers) })
	informers.Go(func() error { return c.ingresses.Run(layers) })
	defer func() { stopLayers(); informers.Wait() }()

	if err := c.wait(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	// Only now, so that a process that may not write keeps no queue of keys: the handlers are given the whole cache.
	if err := errors.Join(subscribe(c, c.services), subscribe(c, c.ingresses)); err != nil {
		return err
	}
	err := c.loop.Run(ctx)
	if errors.Is(err, controller.ErrDrainTimeout) {
		// What is left undone is found again by the next start: nothing but the cluster keeps state.
		klog.FromContext(ctx).Info("Stopped in the middle of a write", "err", err)
		return nil
	}
	return err
}

// wait returns when the caches are filled and this process may write.
func (c *Controller) wait(ctx context.Context) error {
	if err := errors.Join(c.services.WaitForSync(ctx), c.ingresses.WaitForSync(ctx)); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Caches filled", "services", c.services.Store().Len(), "ingresses", c.ingresses.Store().Len())
	if c.opts.MayWrite == nil {
		return nil
	}
	select {
	case <-c.opts.MayWrite:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
