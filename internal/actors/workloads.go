package actors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"glasswatch/controller"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// Workloads makes the status of Deployments and StatefulSets follow their spec, as their controllers would with Pods
// that start at once. Make it with [New]. Its methods are safe for concurrent use.
type Workloads struct {
	client       kubernetes.Interface
	deployments  *loop[*appsv1.Deployment]
	statefulSets *loop[*appsv1.StatefulSet]
	claims       *loop[*corev1.PersistentVolumeClaim]

	mu    sync.Mutex // of what follows
	held  map[string]bool
	fixed map[workload]int32 // by SetReady
}

type workload struct {
	kind string
	key  listwatch.Key
}

// New returns the actor of one namespace; "" is all. It does nothing before [Workloads.Run].
func New(client kubernetes.Interface, namespace string) *Workloads {
	w := &Workloads{client: client, held: map[string]bool{}, fixed: map[workload]int32{}}
	w.deployments = newLoop("deployments",
		source[*appsv1.Deployment](client.AppsV1().Deployments(namespace)),
		func(ctx context.Context, d *appsv1.Deployment) (time.Duration, error) {
			return 0, ignoreStale(w.syncDeployment(ctx, d))
		})
	w.statefulSets = newLoop("statefulsets",
		source[*appsv1.StatefulSet](client.AppsV1().StatefulSets(namespace)),
		func(ctx context.Context, s *appsv1.StatefulSet) (time.Duration, error) {
			// No event of a claim brings the key of its StatefulSet, so that all errors about claims are retried.
			return 0, errors.Join(w.syncClaims(ctx, s), ignoreStale(w.syncStatefulSet(ctx, s)))
		})
	w.claims = newLoop("persistentvolumeclaims",
		source[*corev1.PersistentVolumeClaim](client.CoreV1().PersistentVolumeClaims(namespace)),
		func(ctx context.Context, c *corev1.PersistentVolumeClaim) (time.Duration, error) {
			return 0, ignoreStale(w.unprotect(ctx, c))
		})
	return w
}

// ignoreStale is for a write of the object whose key is synced. A conflict says that the cache was behind: the event
// that it lacks brings the key again.
func ignoreStale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Run acts until ctx ends, and returns when its goroutines have ended. It may be called once.
func (w *Workloads) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	w.deployments.run(ctx, group, w.waitForSync)
	w.statefulSets.run(ctx, group, w.waitForSync)
	w.claims.run(ctx, group, w.waitForSync)
	return group.Wait()
}

// waitForSync waits for all caches, since a StatefulSet's sync reads that of the claims, too.
func (w *Workloads) waitForSync(ctx context.Context) error {
	return errors.Join(w.deployments.informer.WaitForSync(ctx), w.statefulSets.informer.WaitForSync(ctx),
		w.claims.informer.WaitForSync(ctx))
}

// Hold keeps workloads of that name from becoming ready until [Workloads.Release]. Their observedGeneration follows.
// Their readyReplicas stays, or sinks to the replicas wanted. Hold works before Run, and before there is such a
// workload.
func (w *Workloads) Hold(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held[name] = true
}

// Release ends Hold and SetReady for that name: all its replicas become ready.
func (w *Workloads) Release(name string) {
	w.mu.Lock()
	delete(w.held, name)
	for of := range w.fixed {
		if of.key.Name == name {
			delete(w.fixed, of)
		}
	}
	w.mu.Unlock()
	w.deployments.enqueue(name)
	w.statefulSets.enqueue(name)
}

// SetReady makes that many replicas of a workload ready, and no more until Release. kind is Deployment or StatefulSet.
// The status is written on return, also if Run was not called. It is at most the replicas wanted.
func (w *Workloads) SetReady(ctx context.Context, kind, namespace, name string, ready int32) error {
	w.mu.Lock()
	w.fixed[workload{kind, listwatch.Key{Namespace: namespace, Name: name}}] = ready
	w.mu.Unlock()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		switch kind {
		case "Deployment":
			d, err := w.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			return w.syncDeployment(ctx, d)
		case "StatefulSet":
			s, err := w.client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			return w.syncStatefulSet(ctx, s)
		default:
			return fmt.Errorf("want kind Deployment or StatefulSet, got %q", kind)
		}
	})
}

// readyOf returns how many of the wanted replicas are to be ready; before is how many are so far.
func (w *Workloads) readyOf(kind string, obj metav1.Object, before, wanted int32) int32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	fixed, ok := w.fixed[workload{kind, listwatch.KeyOf(obj)}]
	switch {
	case ok:
		return min(fixed, wanted)
	case w.held[obj.GetName()]:
		return min(before, wanted)
	default:
		return wanted
	}
}

// loop has an object reconciled whenever it changes, and after the time that sync returns, if that is not 0.
type loop[T listwatch.Object] struct {
	informer *sharedinformer.Informer[T]
	queue    *controller.Controller[listwatch.Key]
}

// watching is an informer's options, under which a watch ends after a day at most. In virtual time a watch that ends and begins again is
// most of what an idle actor costs.
func watching[T listwatch.Object](name string) sharedinformer.Options[T] {
	opts := sharedinformer.Options[T]{Name: name}
	opts.Reflector.MinWatchTimeout = 12 * time.Hour
	return opts
}

func newLoop[T listwatch.Object](
	name string, from listwatch.ListerWatcher[T], sync func(context.Context, T) (time.Duration, error),
) *loop[T] {
	l := &loop[T]{informer: sharedinformer.New(from, watching[T](name))}
	reconcile := func(ctx context.Context, key listwatch.Key) (controller.Result, error) {
		obj, ok := l.informer.Store().GetByKey(key)
		if !ok {
			return controller.Result{}, nil
		}
		after, err := sync(ctx, obj)
		return controller.Result{RequeueAfter: after}, err
	}
	l.queue = controller.New(controller.Func[listwatch.Key](reconcile), controller.Options[listwatch.Key]{
		Name: "actor of " + name, MaxDelay: time.Second, DrainTimeout: -1,
	})
	return l
}

func (l *loop[T]) run(ctx context.Context, group *errgroup.Group, waitForSync func(context.Context) error) {
	group.Go(func() error {
		_, err := l.informer.AddHandler(controller.EnqueueObject[T](l.queue), sharedinformer.HandlerOptions{})
		if err != nil {
			return err
		}
		return l.informer.Run(ctx)
	})
	group.Go(func() error {
		if err := waitForSync(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := l.queue.Run(ctx); !errors.Is(err, controller.ErrDrainTimeout) {
			return err
		}
		return nil // nothing is to be finished
	})
}

// enqueue has the objects of that name looked at again.
func (l *loop[T]) enqueue(name string) {
	for _, obj := range l.informer.Store().List() {
		if obj.GetName() == name {
			l.queue.Enqueue(listwatch.KeyOf(obj))
		}
	}
}

// typedClient is what the clientset has for one kind.
type typedClient[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

func source[T listwatch.Object, L runtime.Object](client typedClient[L]) listwatch.ListerWatcher[T] {
	return listwatch.Funcs[T]{
		ListFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, opts)
		},
		WatchFunc: client.Watch,
	}
}
