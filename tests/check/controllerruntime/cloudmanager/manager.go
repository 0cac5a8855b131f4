package cloudmanager

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientgoworkqueue "k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/compat/cache"
	"glasswatch/compat/workqueue"
)

// Run reconciles the CloudManagers of a namespace, or of all if it is empty, until the context ends.
//
// Reads do not wait for its deletions: if the cache misses one, such a read waits for ever (docs/results/read-your-writes.md). So the cache may
// still show what is deleted. The precondition on the UID keeps a second deletion from harm.
func Run(ctx context.Context, cfg *rest.Config, namespace string) error {
	return run(ctx, cfg, namespace, client.DisableReadYourWritesConsistency)
}

// run is Run with options for its deletions.
func run(ctx context.Context, cfg *rest.Config, namespace string, deletions ...client.DeleteOption) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := v1.AddToScheme(scheme); err != nil {
		return err
	}
	informers := ctrlcache.Options{
		NewInformer: cache.NewSharedIndexInformer,
		ByObject:    map[client.Object]ctrlcache.ByObject{&corev1.Secret{}: {Transform: withoutForeignData}},
	}
	if namespace != "" {
		informers.DefaultNamespaces = map[string]ctrlcache.Config{namespace: {}}
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  scheme,
		Cache:   informers,
		Client:  client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		Metrics: metricsserver.Options{BindAddress: "0"}, // tests run many in one process
		Logger:  log.FromContext(ctx),
	})
	if err != nil {
		return err
	}
	r := &Reconciler{
		Client: client.WithFieldOwner(mgr.GetClient(), desired.ManagedBy),
		Live:   mgr.GetAPIReader(),
		Events: mgr.GetEventRecorder(desired.ManagedBy),

		deletions: deletions,
	}
	if err := r.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// withoutForeignData keeps other people's secrets out of the cache, and with them the copies that tools leave in the
// metadata, such as the annotation last-applied-configuration.
func withoutForeignData(obj any) (any, error) {
	if s, ok := obj.(*corev1.Secret); ok && s.Labels[desired.LabelManagedBy] != desired.ManagedBy {
		s.Data, s.Annotations, s.ManagedFields = nil, nil, nil
	}
	return obj, nil
}

// The fields by which the cache finds objects without a scan.
const (
	byController = ".metadata.controller" // of a child: the UID of its controller
	byChild      = ".spec.children"       // of a CloudManager: kind/name of each child that it asks for
)

// SetupWithManager says what wakes the reconciler. That a child is owned is not enough. Somebody else's object may have
// its name, and the Secret has no owner: for these the name leads to the CloudManager.
//
// A change of the status wakes it, too: it may be somebody else's, or one whose answer was lost. So there is no
// predicate. A pass without a difference writes nothing.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	index := mgr.GetFieldIndexer()
	for _, child := range []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &corev1.Service{}} {
		if err := index.IndexField(ctx, child, byController, controllerOf); err != nil {
			return err
		}
	}
	if err := index.IndexField(ctx, &v1.CloudManager{}, byChild, childrenOf); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1.CloudManager{}).
		Owns(&appsv1.Deployment{}).
		Owns(&appsv1.StatefulSet{}).
		Owns(&corev1.Service{}).
		Watches(&appsv1.Deployment{}, r.named("deployment")).
		Watches(&appsv1.StatefulSet{}, r.named("statefulset")).
		Watches(&corev1.Service{}, r.named("service")).
		Watches(&corev1.Secret{}, r.named("secret")).
		WithOptions(controller.Options{
			NewQueue:              newQueue,
			ReconciliationTimeout: 30 * time.Second, // an API server that never answers would block a worker for ever
			SkipNameValidation:    new(true),
		}).
		Complete(r)
}

// named enqueues the CloudManagers that ask for an object of this kind and of the name.
func (r *Reconciler) named(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []ctrl.Request {
		var asking v1.CloudManagerList
		if err := r.List(ctx, &asking, client.InNamespace(obj.GetNamespace()),
			client.MatchingFields{byChild: desired.NameOf(kind, obj.GetName())}); err != nil {
			log.FromContext(ctx).Error(err, "Cannot list CloudManagers", "kind", kind, "name", obj.GetName())
			return nil
		}
		var requests []ctrl.Request
		for _, cm := range asking.Items {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&cm)})
		}
		return requests
	})
}

func controllerOf(obj client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

func childrenOf(obj client.Object) []string { return desired.Names(obj.(*v1.CloudManager)) }

func newQueue(
	name string, limiter clientgoworkqueue.TypedRateLimiter[ctrl.Request],
) clientgoworkqueue.TypedRateLimitingInterface[ctrl.Request] {
	config := workqueue.TypedRateLimitingQueueConfig[ctrl.Request]{Name: name}
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config)
}
