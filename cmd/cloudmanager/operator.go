package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/client"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/controller"
	"glasswatch/controller/metrics"
	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	informermetrics "glasswatch/sharedinformer/metrics"
)

// parts are what the program gives an operator.
type parts struct {
	namespace  string // "" is all
	workers    int
	registerer prometheus.Registerer // may be nil
	mayWrite   <-chan struct{}       // closed once this process may write; nil is at once
}

// operator brings CloudManagers about: five informers, four of them for children, and one loop.
type operator struct {
	parts
	managers *sharedinformer.Informer[*v1.CloudManager]
	kinds    map[string]childKind // by desired.Child.Kind
	caches   []cache              // all five
	client   *client.Clients
	loop     *controller.Controller[listwatch.Key]
	events   record.EventBroadcaster
	recorder record.EventRecorder
}

// cache is an informer of any type.
type cache interface {
	Name() string
	Run(ctx context.Context) error
	WaitForSync(ctx context.Context) error
	HasSynced() bool
	LastError() error
	Stats() sharedinformer.Stats
}

// The indices: CloudManagers by the children that they name, children by the UID of their controller.
const (
	byChild      = "child"
	byController = "controller"
)

// newOperator does not talk to the cluster.
func newOperator(cfg *rest.Config, p parts) (*operator, error) {
	o := &operator{parts: p, kinds: map[string]childKind{}}
	var err error
	if o.client, err = client.NewForConfig(cfg); err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	o.managers, err = newInformer(o, cfg, v1.Resource, sharedinformer.Options[*v1.CloudManager]{
		Indexers: indexer.Indexers[*v1.CloudManager]{byChild: childrenOf},
	})
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		addKind(o, cfg, "deployment", appsv1.SchemeGroupVersion.WithResource("deployments"),
			func(ns string) writer[*appsv1.Deployment] { return kube.AppsV1().Deployments(ns) }, nil),
		addKind(o, cfg, "statefulset", appsv1.SchemeGroupVersion.WithResource("statefulsets"),
			func(ns string) writer[*appsv1.StatefulSet] { return kube.AppsV1().StatefulSets(ns) }, nil),
		addKind(o, cfg, "service", corev1.SchemeGroupVersion.WithResource("services"),
			func(ns string) writer[*corev1.Service] { return kube.CoreV1().Services(ns) }, nil),
		addKind(o, cfg, "secret", corev1.SchemeGroupVersion.WithResource("secrets"),
			func(ns string) writer[*corev1.Secret] { return kube.CoreV1().Secrets(ns) }, withoutForeignData),
	)
	if err != nil {
		return nil, err
	}
	loop := controller.Options[listwatch.Key]{Name: "cloudmanager", Workers: p.workers, DrainTimeout: 3 * time.Second}
	if p.registerer != nil {
		loop.Metrics = metrics.New(p.registerer, loop.Name)
		if err := p.registerer.Register(informermetrics.NewCollector(o.stats)); err != nil {
			return nil, err
		}
	}
	o.loop = controller.New(controller.Func[listwatch.Key](o.reconcile), loop)
	o.events = record.NewBroadcaster()
	o.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events("")})
	o.recorder = o.events.NewRecorder(v1.Scheme, corev1.EventSource{Component: desired.ManagedBy})
	return o, nil
}

// newInformer makes one of the operator's informers. Its failing lists and watches are repeated every ten seconds at
// least, so that it recovers soon after a right was granted.
func newInformer[T listwatch.Object](
	o *operator, cfg *rest.Config, gvr schema.GroupVersionResource, opts sharedinformer.Options[T],
) (*sharedinformer.Informer[T], error) {
	from := listwatch.Options{Namespace: o.namespace}
	if gvr == v1.Resource {
		from.Scheme = v1.Scheme
	}
	lw, err := listwatch.NewForConfig[T](cfg, gvr, from)
	if err != nil {
		return nil, err
	}
	opts.Name, opts.Reflector.Backoff.Max = gvr.Resource, 10*time.Second
	informer := sharedinformer.New[T](lw, opts)
	o.caches = append(o.caches, informer)
	return informer, nil
}

func childrenOf(cm *v1.CloudManager, dst []string) ([]string, error) {
	for _, name := range desired.Names(cm) {
		dst = append(dst, cm.Namespace+"/"+name)
	}
	return dst, nil
}

// withoutForeignData keeps the contents of other people's Secrets out of this process's memory.
func withoutForeignData(s *corev1.Secret) (*corev1.Secret, error) {
	if s.Labels[desired.LabelManagedBy] != desired.ManagedBy {
		s.Data = nil
	}
	return s, nil
}

func (o *operator) stats() (stats []sharedinformer.Stats) {
	for _, c := range o.caches {
		stats = append(stats, c.Stats())
	}
	return stats
}

// Ready returns nil while all caches are filled and follow the cluster, else an error that names those that do not.
func (o *operator) Ready() error {
	var errs []error
	for _, c := range o.caches {
		if err := c.LastError(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.Name(), err))
		} else if !c.HasSynced() {
			errs = append(errs, fmt.Errorf("%s: not synced yet", c.Name()))
		}
	}
	return errors.Join(errs...)
}

// Run works until ctx ends. It returns when its goroutines have ended. Without the right to write it only fills its
// caches.
func (o *operator) Run(ctx context.Context) error {
	defer o.events.Shutdown()
	layers, stopLayers := context.WithCancel(context.WithoutCancel(ctx))
	var informers errgroup.Group
	for _, c := range o.caches {
		informers.Go(func() error { return c.Run(layers) })
	}
	defer func() { stopLayers(); _ = informers.Wait() }()
	for _, c := range o.caches {
		if err := c.WaitForSync(ctx); err != nil {
			return endedBy(ctx, err)
		}
	}
	klog.FromContext(ctx).Info("Caches filled", "cloudmanagers", o.managers.Store().Len())
	if o.mayWrite != nil {
		select {
		case <-o.mayWrite:
		case <-ctx.Done():
			return nil
		}
	}
	// The handlers are added only now, so that a process that may not write keeps no queue. They get the whole cache.
	if err := o.subscribe(); err != nil {
		return err
	}
	err := o.loop.Run(ctx)
	if errors.Is(err, controller.ErrDrainTimeout) {
		klog.FromContext(ctx).Info("Stopped in the middle of a pass", "err", err)
		return nil // the next start finds unfinished work again
	}
	return err
}

func endedBy(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// subscribe has a CloudManager's key enqueued when its spec changes, or anything that it controls or names.
func (o *operator) subscribe() error {
	all := controller.EnqueueObject[*v1.CloudManager](o.loop)
	_, err := o.managers.AddHandler(sharedinformer.HandlerFuncs[*v1.CloudManager]{
		AddFunc: all.OnAdd,
		UpdateFunc: func(before, now *v1.CloudManager) {
			// A change of the status is the operator's own: it must not wake itself.
			if before.Generation != now.Generation || before.UID != now.UID {
				all.OnUpdate(before, now)
			}
		},
		DeleteFunc: all.OnDelete,
	}, sharedinformer.HandlerOptions{})
	errs := []error{err}
	for _, kind := range o.kinds {
		errs = append(errs, kind.subscribe(o))
	}
	return errors.Join(errs...)
}

// enqueueNaming enqueues the CloudManagers that ask for a child of this name, whoever it belongs to.
func (o *operator) enqueueNaming(kind string, child listwatch.Key) {
	managers, err := o.managers.Store().ByIndex(byChild, child.Namespace+"/"+desired.NameOf(kind, child.Name))
	if err != nil {
		panic(err) // the index is there from the start
	}
	for _, cm := range managers {
		o.loop.Enqueue(listwatch.KeyOf(cm))
	}
}
