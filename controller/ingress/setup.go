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
	"glasswatch/controller/metrics"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
	"glasswatch/observe"
	"glasswatch/sharedinformer"
	informermetrics "glasswatch/sharedinformer/metrics"
	"glasswatch/sharedinformer/mutationdetect"
)

// Options of a Controller. The zero value serves all namespaces with one worker.
type Options struct {
	Config     Config
	Namespace  string        // "" is all
	Workers    int           // 0 is 1
	Resync     time.Duration // the period of a reconcile of every Service; 0 is never
	Registerer prometheus.Registerer
	// MayWrite is closed once this process may write; nil is at once. Until then the caches fill and follow the cluster,
	// and nothing is queued.
	MayWrite <-chan struct{}
	Hooks    Hooks
	// Observe, if set, is called for each change at each boundary of the layers, from many goroutines. While it blocks,
	// what it was called for waits.
	Observe func(...look.Event)
}

// drainTimeout leaves two of five seconds to the rest of the program, which must end within five. With shards it takes
// longer if the server does not answer: a renewal on its way and the end of the replica's Lease time out.
const drainTimeout = 3 * time.Second

// Controller is the seven layers put together.
type Controller struct {
	services   *sharedinformer.Informer[*corev1.Service]
	ingresses  *sharedinformer.Informer[*networkingv1.Ingress]
	informers  []func(ctx context.Context) error // run these two
	filled     []func(ctx context.Context) error // wait for those that no hook made
	ready      []func() error                    // of the same, and of the hook
	observed   map[string]look.Informer          // by resource, if somebody looks on
	loop       *controller.Controller[listwatch.Key]
	events     record.EventBroadcaster
	metrics    *informermetrics.Collector // nil without a Registerer
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
	// Events have a client of their own, so that many Events do not delay the writes.
	events, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	c := &Controller{opts: opts, observed: map[string]look.Informer{}}
	if opts.Registerer != nil {
		c.metrics = informermetrics.NewCollector(func() []sharedinformer.Stats {
			return []sharedinformer.Stats{c.services.Stats(), c.ingresses.Stats()}
		})
	}
	services, ingresses := corev1.SchemeGroupVersion.WithResource("services"), networkingv1.SchemeGroupVersion.WithResource("ingresses")
	if c.services, err = newInformer(c, cfg, services, "Service", opts.Hooks.Services); err != nil {
		return nil, err
	}
	if c.ingresses, err = newInformer(c, cfg, ingresses, "Ingress", opts.Hooks.Ingresses); err != nil {
		return nil, err
	}
	if opts.Registerer != nil {
		if err := opts.Registerer.Register(c.metrics); err != nil {
			return nil, err
		}
	}
	if opts.Hooks.Ready != nil {
		c.ready = append(c.ready, opts.Hooks.Ready)
	}
	c.events = record.NewBroadcaster()
	c.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: events.Events("")})
	recorder := c.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: FieldManager})

	c.reconciler, err = NewReconciler(opts.Config, c.services.Store(), c.ingresses.Store(), client, recorder)
	if err != nil {
		return nil, err
	}
	c.reconciler.Observe(opts.Observe)
	loop := controller.Options[listwatch.Key]{Name: "ingress", Workers: opts.Workers, DrainTimeout: drainTimeout}
	if opts.Registerer != nil {
		loop.Metrics = metrics.New(opts.Registerer, loop.Name)
	}
	if opts.Observe != nil {
		loop.Observe = func(seen []observe.Observation[listwatch.Key]) { opts.Observe(look.Of("", seen)...) }
	}
	var reconciler controller.Reconciler[listwatch.Key] = c.reconciler
	if opts.Hooks.Reconcile != nil {
		reconciler = controller.Func[listwatch.Key](opts.Hooks.Reconcile)
	}
	c.loop = controller.New(reconciler, loop)
	return c, nil
}

// maxBackoff is the longest wait of a failing list or watch, before jitter. It is short, so that the controller
// recovers soon after a right was granted or the API server is back.
const maxBackoff = 10 * time.Second

// newInformer makes one of the controller's informers, or has instead make it. If the environment asks for it, a
// detector of mutations runs it.
func newInformer[T listwatch.Object](
	c *Controller, cfg *rest.Config, gvr schema.GroupVersionResource, kind string,
	instead func(*rest.Config, Source, sharedinformer.Options[T]) (*sharedinformer.Informer[T], error),
) (*sharedinformer.Informer[T], error) {
	opts := c.opts
	// One decoder for all that lists the resource. Nobody writes to the cached objects.
	client := listwatch.Options{Namespace: opts.Namespace, Decoder: memo.New(memo.Options{})}
	informerOptions := sharedinformer.Options[T]{Name: gvr.Resource, Resource: gvr.GroupResource(), ResyncPeriod: opts.Resync}
	informerOptions.Reflector.Backoff.Max = maxBackoff
	if c.metrics != nil {
		informerOptions.Metrics = c.metrics.Hooks(gvr.Resource)
	}
	var detector *mutationdetect.Detector
	if mutationdetect.Wanted() {
		detector = mutationdetect.New(gvr.Resource, nil)
		informerOptions.BeforeStore = detector.BeforeStore
	}
	if instead != nil {
		if detector != nil {
			untilDone := func(ctx context.Context) error { <-ctx.Done(); return nil }
			c.informers = append(c.informers, func(ctx context.Context) error { return detector.Run(ctx, untilDone) })
		}
		return instead(cfg, Source{gvr, client}, informerOptions)
	}
	lw, err := listwatch.NewForConfig[T](cfg, gvr, client)
	if err != nil {
		return nil, err
	}
	var informer *sharedinformer.Informer[T]
	if opts.Observe == nil {
		informer = sharedinformer.New(listwatch.ListerWatcher[T](lw), informerOptions)
	} else {
		observed := look.At(listwatch.ListerWatcher[T](lw), kind, informerOptions, opts.Observe)
		informer, c.observed[gvr.Resource] = observed.Informer, observed
	}
	run := informer.Run
	if detector != nil {
		run = func(ctx context.Context) error { return detector.Run(ctx, informer.Run) }
	}
	c.informers = append(c.informers, run)
	c.filled = append(c.filled, informer.WaitForSync)
	c.ready = append(c.ready, func() error { return ready(informer) })
	return informer, nil
}

const handlerName = "ingress-controller"

// subscribe enqueues the key of every changed object of T. An Ingress has its Service's name, so both kinds lead to the
// same key.
func subscribe[T listwatch.Object](c *Controller, informer *sharedinformer.Informer[T]) error {
	handler := controller.EnqueueObject[T](c.loop)
	_, err := informer.AddHandler(handler, sharedinformer.HandlerOptions{Name: handlerName})
	return err
}

// Ready returns nil while both caches are filled and follow the cluster, else an error that names the failing cache and
// the reason. It does not depend on MayWrite.
func (c *Controller) Ready() error {
	var errs []error
	for _, ready := range c.ready {
		errs = append(errs, ready())
	}
	return errors.Join(errs...)
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

// View is what the lens may look at. It needs Options.Observe.
func (c *Controller) View() *look.View {
	return &look.View{Informers: c.observed, Loop: c.loop, Workers: c.opts.Workers, Enqueuer: handlerName}
}

// Run works until ctx ends. Then it lets the workers finish their keys, and returns when all its goroutines have ended.
func (c *Controller) Run(ctx context.Context) error {
	defer c.events.Shutdown()
	layers, stopLayers := context.WithCancel(context.WithoutCancel(ctx))
	var informers errgroup.Group
	for _, run := range c.informers {
		informers.Go(func() error { return run(layers) })
	}
	defer func() { stopLayers(); informers.Wait() }()

	if err := c.wait(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	// The handlers are added only now, so that a process that may not write keeps no queue of keys. They get the whole
	// cache.
	if err := errors.Join(subscribe(c, c.services), subscribe(c, c.ingresses)); err != nil {
		return err
	}
	if c.opts.Hooks.Work != nil {
		return c.opts.Hooks.Work(ctx, c.runLoop)
	}
	return c.runLoop(ctx)
}

func (c *Controller) runLoop(ctx context.Context) error {
	err := c.loop.Run(ctx)
	if errors.Is(err, controller.ErrDrainTimeout) {
		// The next start finds unfinished work again, for only the cluster keeps state.
		klog.FromContext(ctx).Info("Stopped in the middle of a write", "err", err)
		return nil
	}
	return err
}

// wait returns when the caches are filled and this process may write.
func (c *Controller) wait(ctx context.Context) error {
	var errs []error
	for _, filled := range c.filled {
		errs = append(errs, filled(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Caches filled",
		"services", c.services.Store().Len(), "ingresses", c.ingresses.Store().Len())
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
