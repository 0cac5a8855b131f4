// Package layers puts these layers together as most controllers of objects have them: informers, queue, loop, and a
// recorder of Events. cmd/foo-controller and cmd/cloudmanager are built on it. Nothing makes a program of package
// operator use it: cmd/ingress-controller does not.
package layers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/operator"
	"glasswatch/controller"
	"glasswatch/controller/metrics"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	informermetrics "glasswatch/sharedinformer/metrics"
)

// Layers are what a controller of objects is made of: informers, a loop, a recorder of Events. It is an
// [operator.Controller].
//
//	Informer[T] ──Handle──▶ Loop ──▶ reconcile ──▶ Recorder
type Layers struct {
	Loop     *controller.Controller[listwatch.Key]
	Recorder record.EventRecorder // made by Run; it also logs
	// Work is what Run does once this process may write, until ctx ends. It is Loop.Run, or what a program puts around
	// that.
	Work func(ctx context.Context) error

	parts      operator.Parts
	cfg        *rest.Config
	scheme     *runtime.Scheme
	events     typedcorev1.EventsGetter
	metrics    *informermetrics.Collector // nil without a Registerer
	informers  []informer
	subscribes []func() error // each adds a handler
}

// informer is one of any type.
type informer interface {
	Name() string
	Run(ctx context.Context) error
	WaitForSync(ctx context.Context) error
	HasSynced() bool
	LastError() error
	Stats() sharedinformer.Stats
}

// New returns layers without informers. name is that of the loop, and the source of the Events. scheme knows the
// kinds of the objects that they are about. Each set may change the loop's options: RateLimiter, say, or Observe.
// New does not talk to the cluster.
func New(
	cfg *rest.Config, p operator.Parts, name string, scheme *runtime.Scheme, reconcile controller.Func[listwatch.Key],
	set ...func(loop *controller.Options[listwatch.Key]),
) (l *Layers, err error) {
	l = &Layers{parts: p, cfg: cfg, scheme: scheme}
	// Events have a client of their own, so that many Events do not delay the writes.
	if l.events, err = typedcorev1.NewForConfig(cfg); err != nil {
		return nil, err
	}
	loop := controller.Options[listwatch.Key]{Name: name, Workers: p.Workers, DrainTimeout: 3 * time.Second}
	for _, change := range set {
		change(&loop)
	}
	if p.Registerer != nil {
		loop.Metrics = metrics.New(p.Registerer, name)
		l.metrics = informermetrics.NewCollector(l.stats)
		if err := p.Registerer.Register(l.metrics); err != nil {
			return nil, err
		}
	}
	l.Loop = controller.New(reconcile, loop)
	l.Work = l.Loop.Run
	return l, nil
}

// NewInformer adds an informer of the namespace that the program looks at. Failing lists and watches are repeated every
// ten seconds at least, so that the controller recovers soon after a right was granted. scheme knows T; nil is
// client-go's. opts.Name is gvr's, and so is opts.Resource unless it is given.
func NewInformer[T listwatch.Object](
	l *Layers, gvr schema.GroupVersionResource, scheme *runtime.Scheme, opts sharedinformer.Options[T],
) (*sharedinformer.Informer[T], error) {
	from := listwatch.Options{Namespace: l.parts.Namespace, Scheme: scheme}
	lw, err := listwatch.NewForConfig[T](l.cfg, gvr, from)
	if err != nil {
		return nil, err
	}
	opts.Name, opts.Resource = gvr.Resource, cmp.Or(opts.Resource, gvr.GroupResource())
	opts.Reflector.Backoff.Max = 10 * time.Second
	if l.metrics != nil {
		opts.Metrics = l.metrics.Hooks(opts.Name)
	}
	i := sharedinformer.New[T](lw, opts)
	l.informers = append(l.informers, i)
	return i, nil
}

// Handle has a handler added once this process may write. So one that may not keeps no queue of keys; afterwards the
// handler gets the whole cache.
func Handle[T listwatch.Object](l *Layers, i *sharedinformer.Informer[T], h sharedinformer.Handler[T]) {
	l.subscribes = append(l.subscribes, func() error {
		_, err := i.AddHandler(h, sharedinformer.HandlerOptions{})
		return err
	})
}

func (l *Layers) stats() (stats []sharedinformer.Stats) {
	for _, i := range l.informers {
		stats = append(stats, i.Stats())
	}
	return stats
}

// Ready returns nil while all caches are filled and follow the cluster, else an error that names those that do not.
func (l *Layers) Ready() error {
	var errs []error
	for _, i := range l.informers {
		if err := i.LastError(); err != nil {
			errs = append(errs, fmt.Errorf("%s: synced %t: %w", i.Name(), i.HasSynced(), err))
		} else if !i.HasSynced() {
			errs = append(errs, fmt.Errorf("%s: not synced yet", i.Name()))
		}
	}
	return errors.Join(errs...)
}

// Run fills the caches, waits until this process may write, and reconciles until ctx ends. It returns when all its
// goroutines have ended. It may be called once.
func (l *Layers) Run(ctx context.Context) error {
	events := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	defer events.Shutdown()
	events.StartStructuredLogging(0)
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: l.events.Events("")})
	l.Recorder = events.NewRecorder(l.scheme, corev1.EventSource{Component: l.Loop.Name()})
	below, stop := context.WithCancel(context.WithoutCancel(ctx))
	var informers errgroup.Group
	for _, i := range l.informers {
		informers.Go(func() error { return i.Run(below) })
	}
	defer func() { stop(); _ = informers.Wait() }()
	err := l.wait(ctx)
	for _, subscribe := range l.subscribes {
		if err == nil {
			err = subscribe()
		}
	}
	if err == nil {
		err = l.Work(ctx)
	}
	if errors.Is(err, controller.ErrDrainTimeout) {
		// The next start does it again.
		klog.FromContext(ctx).Info("Stopped in the middle of a reconcile", "err", err)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// wait returns when the caches are filled and this process may write.
func (l *Layers) wait(ctx context.Context) error {
	for _, i := range l.informers {
		if err := i.WaitForSync(ctx); err != nil {
			return err
		}
	}
	klog.FromContext(ctx).Info("Caches filled")
	if l.parts.MayWrite == nil {
		return nil
	}
	select {
	case <-l.parts.MayWrite:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
