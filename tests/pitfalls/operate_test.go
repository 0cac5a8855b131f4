package pitfalls

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// In the chapters on operators a ConfigMap plays the custom resource. The value that Put gives it is an image.
var ownerKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// A reconcileFunc looks at the custom resource of that name. With again it is called once more after the delay for
// errors, as with controller-runtime's Result{Requeue: true}.
type reconcileFunc = func(ctx context.Context, name string) (again bool, err error)

// operate runs an operator with one worker until the test ends. An event of a custom resource enqueues its name, and
// one of another object the name of its controller.
func (c *cluster) operate(
	watch func(informers.SharedInformerFactory, cache.ResourceEventHandler), reconcile reconcileFunc,
) (passes *atomic.Int64) {
	c.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	enqueue := func(obj any) {
		if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		if owner := metav1.GetControllerOf(obj.(metav1.Object)); owner != nil {
			queue.Add(owner.Name)
		} else if _, ok := obj.(*corev1.ConfigMap); ok {
			queue.Add(obj.(metav1.Object).GetName())
		}
	}
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	watch(factory, cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(old, now any) { enqueue(old); enqueue(now) }, DeleteFunc: enqueue,
	})
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	c.Cleanup(func() { cancel(); factory.Shutdown() })
	require.NoError(c, factory.WaitForCacheSyncWithContext(c.Context()).AsError())

	passes = &atomic.Int64{}
	worker := make(chan struct{})
	c.Cleanup(func() { cancel(); queue.ShutDown(); <-worker })
	go func() {
		defer close(worker)
		for name, shutdown := queue.Get(); !shutdown; name, shutdown = queue.Get() {
			passes.Add(1)
			if again, err := reconcile(ctx, name); again || err != nil {
				queue.AddRateLimited(name)
			} else {
				queue.Forget(name)
			}
			queue.Done(name)
		}
	}()
	return passes
}

// watchDeployments is what most of the tests need.
func watchDeployments(factory informers.SharedInformerFactory, handler cache.ResourceEventHandler) {
	handle(handler, factory.Core().V1().ConfigMaps().Informer(), factory.Apps().V1().Deployments().Informer())
}

func handle(handler cache.ResourceEventHandler, informers ...cache.SharedIndexInformer) {
	for _, informer := range informers {
		_, _ = informer.AddEventHandler(handler) // it fails only for an informer that has ended
	}
}

// podsOf are what a workload named so starts.
func podsOf(name string, containers ...corev1.Container) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": name}
	return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: containers},
	}
}

// deploymentOf is what a custom resource wants.
func deploymentOf(cr *corev1.ConfigMap, name string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: ownedBy(cr)}}
	d.Spec.Selector, d.Spec.Template = podsOf(name, corev1.Container{Name: "main", Image: cr.Data["v"]})
	return d
}

func ownedBy(cr *corev1.ConfigMap) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(cr, ownerKind)}
}

func (c *cluster) Deployments() typedappsv1.DeploymentInterface {
	return c.Client.AppsV1().Deployments("default")
}

// Deploy creates a custom resource named web, and what it wants.
func (c *cluster) Deploy(image string) *appsv1.Deployment {
	c.Helper()
	d, err := c.Deployments().Create(c.Context(), deploymentOf(c.Put("web", image), "web"), metav1.CreateOptions{})
	require.NoError(c, err)
	return d
}

// Get returns the custom resource.
func (c *cluster) Get(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	return c.Client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
}

// setPhase writes a phase that differs into a custom resource.
func setPhase(ctx context.Context, client kubernetes.Interface, cr *corev1.ConfigMap, phase string) error {
	if cr.Data["phase"] == phase {
		return nil
	}
	cr.Data["phase"] = phase
	written, err := client.CoreV1().ConfigMaps(cr.Namespace).Update(ctx, cr, metav1.UpdateOptions{})
	if err == nil {
		*cr = *written
	}
	return err
}

// few wants a count of at most 3. A larger one must be larger by far, for the exact number may differ between runs.
func few(t *testing.T, what string, got int64) error {
	t.Helper()
	if got <= 3 {
		return nil
	}
	require.Greater(t, got, int64(15))
	return fmt.Errorf("%s: want at most 3, got more than 15", what)
}

// databaseOf is a StatefulSet whose storage is the value of a custom resource.
func databaseOf(cr *corev1.ConfigMap) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", OwnerReferences: ownedBy(cr)}}
	set.Spec.Selector, set.Spec.Template = podsOf("web", corev1.Container{Name: "main", Image: "mariadb:11"})
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("datadir", cr.Data["v"])}
	return set
}

func claim(name, size string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			},
		},
	}
}
