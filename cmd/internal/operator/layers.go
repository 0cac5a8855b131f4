package operator

import (
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

	"glasswatch/controller"
	"glasswatch/controller/metrics"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	informermetrics "glasswatch/sharedinformer/metrics"
)

// Layers are what a controller of objects is made of: informers, one loop, and a recorder of Events. It is a [Controller].
//
//	Informer[T] ──Handle──▶ Loop ──▶ reconcile ──▶ Recorder
type Layers struct {
	Loop     *controller.Controller[listwatch.Key]
	Recorder record.EventRecorder

	parts      Parts
	cfg        *rest.Config
	informers  []informer
	subscribes []func() error // each adds a handler
	events     record.EventBroadcaster
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

// NewLayers returns layers without informers. scheme knows the kinds of the objects that Events are about. NewLayers does not
// talk to the cluster.
func NewLayers(
	cfg *rest.Config, p Parts, name string, scheme *runtime.Scheme, reconcile controller.Func[listwatch.Key],
) (*Layers, error) {
	l := &Layers{parts: p, cfg: cfg}
	// Events have a client of their own, so that many Events do not delay the writes.
	events, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	loop := controller.Options[listwatch.Key]{Name: name, Workers: p.Workers, DrainTimeout: 3 * time.Second}
	if p.Registerer != nil {
		loop.Metrics = metrics.New(p.Registerer, name)
		if err := p.Registerer.Register(informermetrics.NewCollector(l.stats)); err != nil {
			return nil, err
		}
	}
	l.Loop = controller.New(reconcile, loop)
	l.events = record.NewBroadcaster()
	l.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: events.Events("")})
	l.Recorder = l.events.NewRecorder(scheme, corev1.EventSource{Component: name})
	return l, nil
}

// NewInformer adds an informer of the namespace that the program looks at. Failing lists and watches are repeated every
// ten seconds at least, so that the controller recovers soon after a right was granted. scheme knows T; nil is client-go's. opts.Name and Resource are gvr's.
func NewInformer[T listwatch.Object](
	l *Layers, gvr schema.GroupVersionResource, scheme *runtime.Scheme, opts sharedinformer.Options[T],
) (*sharedinformer.Informer[T], error) {
	from := listwatch.Options{Namespace: l.parts.Namespace, Scheme: scheme}
	lw, err := listwatch.NewForConfig[T](l.cfg, gvr, from)
	if err != nil {
		return nil, err
	}
	opts.Name, opts.Resource, opts.Reflector.Backoff.Max = gvr.Resource, gvr.GroupResource(), 10*time.Second
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
	defer l.events.Shutdown()
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
		err = l.Loop.Run(ctx)
	}
	if errors.Is(err, controller.ErrDrainTimeout) {
		klog.FromContext(ctx).Info("Stopped in the middle of a reconcile", "err", err) // the next start does it again
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
