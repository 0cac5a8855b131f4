package pitfalls

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// A function that is called for new and for existing objects sets the containers only if there are none.
//
// Why: CreateOrUpdate gives the function the live object, and after the first pass that has containers. A new image in
// the custom resource never gets to the Deployment. (Often the check is there to keep what others have added.)
//
// You see: images after a change to nginx:1.21: want [nginx:1.21, proxy:1], got [nginx:1.20, proxy:1]
//
// Instead: find your own container by its name, and set each field that is yours at every pass. Or apply on the server,
// which merges containers by name.
func TestPitfall_ContainersSetOnlyIfThereAreNone(t *testing.T) {
	naive := func(pod *corev1.PodSpec, image string) {
		if pod.Containers == nil {
			pod.Containers = []corev1.Container{{Name: "main", Image: image}}
		}
	}
	right := func(pod *corev1.PodSpec, image string) {
		i := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == "main" })
		if i < 0 {
			i = len(pod.Containers)
			pod.Containers = append(pod.Containers, corev1.Container{Name: "main"})
		}
		pod.Containers[i].Image = image
	}
	property := func(t *testing.T, mutate func(pod *corev1.PodSpec, image string)) error {
		c := startCluster(t)
		d := deploymentOf(c.Put("web", "nginx:1.20"), "web")
		pod := &d.Spec.Template.Spec
		pod.Containers = nil
		mutate(pod, "nginx:1.20")
		pod.Containers = append(pod.Containers, corev1.Container{Name: "proxy", Image: "proxy:1"})
		d, err := c.Deployments().Create(t.Context(), d, metav1.CreateOptions{})
		require.NoError(t, err)
		mutate(&d.Spec.Template.Spec, "nginx:1.21")
		d, err = c.Deployments().Update(t.Context(), d, metav1.UpdateOptions{})
		require.NoError(t, err)
		var images []string
		for _, container := range d.Spec.Template.Spec.Containers {
			images = append(images, container.Image)
		}
		return unlike("images after a change to nginx:1.21", []string{"nginx:1.21", "proxy:1"}, images)
	}
	contrast(t, property, naive, right)
}

// Each pass sets the phase to Updating, updates, records an Event Updated, and sets the phase to Running.
//
// Why: each phase is a change of the custom resource, and the operator watches that. So a pass wakes the next one, for
// ever, and the Events say that the Deployment was updated when nothing was.
//
// You see: passes in the minute after one change: want at most 3, got more than 15
//
// Instead: compare first. Write what differs, record an Event for a write that changed something, and let the status
// say what is, not what the pass is doing.
func TestPitfall_UpdatedAtEachPass(t *testing.T) {
	type recorder = func(reason string, args ...any)
	naive := func(ctx context.Context, client kubernetes.Interface, cr *corev1.ConfigMap, record recorder) error {
		if err := setPhase(ctx, client, cr, "Updating"); err != nil {
			return err
		}
		deployments := client.AppsV1().Deployments(cr.Namespace)
		if _, err := deployments.Update(ctx, deploymentOf(cr, cr.Name), metav1.UpdateOptions{}); err != nil {
			return err
		}
		record("Updated")
		return setPhase(ctx, client, cr, "Running")
	}
	right := func(ctx context.Context, client kubernetes.Interface, cr *corev1.ConfigMap, record recorder) error {
		deployments := client.AppsV1().Deployments(cr.Namespace)
		d, err := deployments.Get(ctx, cr.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if main := &d.Spec.Template.Spec.Containers[0]; main.Image != cr.Data["v"] {
			main.Image = cr.Data["v"]
			if _, err := deployments.Update(ctx, d, metav1.UpdateOptions{}); err != nil {
				return err
			}
			record("Updated")
		}
		return setPhase(ctx, client, cr, "Running")
	}
	type half = func(context.Context, kubernetes.Interface, *corev1.ConfigMap, recorder) error
	property := func(t *testing.T, reconcile half) error {
		c := startCluster(t)
		c.Deploy("nginx:1.20")
		c.Put("web", "nginx:1.21")
		c.Faults().Delay(100 * time.Millisecond)
		var events notes
		passes := c.operate(watchDeployments, func(ctx context.Context, name string) (bool, error) {
			cr, err := c.Get(ctx, name)
			if err != nil {
				return false, err
			}
			return false, reconcile(ctx, c.Client, cr, events.add)
		})
		apiservertest.Pass(time.Minute)
		if err := few(t, "passes in the minute after one change", passes.Load()); err != nil {
			return err
		}
		return unlike("Events", []string{"Updated"}, events.all())
	}
	contrast(t, property, naive, right)
}

// An operator makes Deployments, Secrets and Services, and watches only Deployments.
//
// Why: no event says that a Secret or a Service was deleted or changed by hand. It stays away until something else
// wakes the operator, which may take months. Nobody notices before the next Pod starts, and cannot.
//
// You see: a minute after both were deleted: want [secret, service], got []
//
// Instead: watch each kind that the operator makes, and enqueue the owner (controller-runtime: Owns for each kind).
func TestPitfall_ChildrenThatNobodyWatches(t *testing.T) {
	naive := func(factory informers.SharedInformerFactory, handler cache.ResourceEventHandler) {
		handle(handler, factory.Core().V1().ConfigMaps().Informer(), factory.Apps().V1().Deployments().Informer())
	}
	right := func(factory informers.SharedInformerFactory, handler cache.ResourceEventHandler) {
		handle(handler, factory.Core().V1().ConfigMaps().Informer(), factory.Apps().V1().Deployments().Informer(),
			factory.Core().V1().Secrets().Informer(), factory.Core().V1().Services().Informer())
	}
	property := func(t *testing.T, watch func(informers.SharedInformerFactory, cache.ResourceEventHandler)) error {
		c := startCluster(t)
		c.Put("web", "nginx:1.20")
		secrets, services := c.Client.CoreV1().Secrets("default"), c.Client.CoreV1().Services("default")
		c.operate(watch, func(ctx context.Context, name string) (bool, error) {
			cr, err := c.Get(ctx, name)
			if err != nil {
				return false, err
			}
			child := metav1.ObjectMeta{Name: name, OwnerReferences: ownedBy(cr)}
			_, err = secrets.Create(ctx, &corev1.Secret{ObjectMeta: child}, metav1.CreateOptions{})
			_, err2 := services.Create(ctx, &corev1.Service{
				ObjectMeta: child, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			}, metav1.CreateOptions{})
			return false, errors.Join(ignore(apierrors.IsAlreadyExists, err), ignore(apierrors.IsAlreadyExists, err2))
		})
		apiservertest.Pass(time.Minute)
		require.NoError(t, secrets.Delete(t.Context(), "web", metav1.DeleteOptions{}))
		require.NoError(t, services.Delete(t.Context(), "web", metav1.DeleteOptions{}))
		apiservertest.Pass(time.Minute)
		var there []string
		if _, err := secrets.Get(t.Context(), "web", metav1.GetOptions{}); err == nil {
			there = append(there, "secret")
		}
		if _, err := services.Get(t.Context(), "web", metav1.GetOptions{}); err == nil {
			there = append(there, "service")
		}
		return unlike("a minute after both were deleted", []string{"secret", "service"}, there)
	}
	contrast(t, property, naive, right)
}

// ignore returns nil for errors of that kind.
func ignore(kind func(error) bool, err error) error {
	if kind(err) {
		return nil
	}
	return err
}

// An operator watches a kind, and its role has only the right to create and get it.
//
// Why: an informer lists and watches. Without these rights its cache never fills, and WaitForCacheSync does not return.
// The operator does nothing at all, and says so only in its log. With an administrator's kubeconfig it works.
//
// You see: caches that are not filled after a minute: want [], got [*v1.Secret]
//
// Instead: give get, list and watch for each kind that has an informer. Write the role from what the program asks for,
// and run its tests with that role on a real API server.
func TestPitfall_WatchingWithoutTheRightTo(t *testing.T) {
	naive := func() []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{
			{Resources: []string{"services"}, Verbs: []string{"get", "list", "watch", "create"}},
			{Resources: []string{"secrets"}, Verbs: []string{"get", "create"}},
		}
	}
	right := func() []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{
			{Resources: []string{"services"}, Verbs: []string{"get", "list", "watch", "create"}},
			{Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "create"}},
		}
	}
	property := func(t *testing.T, rules func() []rbacv1.PolicyRule) error {
		c := startCluster(t)
		for _, resource := range []string{"services", "secrets"} {
			for _, verb := range []string{"list", "watch"} {
				if !slices.ContainsFunc(rules(), func(r rbacv1.PolicyRule) bool {
					return slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, verb)
				}) {
					c.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: resource, Code: 403})
				}
			}
		}
		factory := informers.NewSharedInformerFactory(c.Client, 0)
		factory.Core().V1().Services().Informer()
		factory.Core().V1().Secrets().Informer()
		ctx, cancel := context.WithCancel(context.Background())
		defer factory.Shutdown()
		defer cancel()
		factory.StartWithContext(ctx)
		minute, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		var empty []string
		for kind, synced := range factory.WaitForCacheSyncWithContext(minute).Synced {
			if !synced {
				empty = append(empty, kind.String())
			}
		}
		return unlike("caches that are not filled after a minute", []string{}, empty)
	}
	contrast(t, property, naive, right)
}

// A gate looks at readyReplicas and not at observedGeneration.
//
// Why: the status is written by another controller, some time after the spec. Until then it tells of the last
// generation: of another image, and perhaps of fewer replicas. So a gate that opens by it has not looked at the change.
//
// You see: open after the first start: true; after an image that nobody has rolled out: true
//
// Instead: check that status.observedGeneration has reached metadata.generation, and read the rest of the status only
// then. That makes the status one of the present spec. It does not make the Pods new: readyReplicas counts old ones
// during a rolling update. Whoever must wait for the new ones looks at updatedReplicas, too.
func TestPitfall_AGateOnAStaleStatus(t *testing.T) {
	naive := func(d *appsv1.Deployment) (open bool) {
		return d.Status.ReadyReplicas >= *d.Spec.Replicas/2+1
	}
	right := func(d *appsv1.Deployment) (open bool) {
		return d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas >= *d.Spec.Replicas/2+1
	}
	property := func(t *testing.T, gate func(*appsv1.Deployment) bool) error {
		c := startCluster(t)
		d := c.Deploy("nginx:1.20")
		require.False(t, gate(d), "it does not run")
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, ReadyReplicas: 1}
		d, err := c.Deployments().UpdateStatus(t.Context(), d, metav1.UpdateOptions{})
		require.NoError(t, err)
		started := gate(d)
		d.Spec.Template.Spec.Containers[0].Image = "nginx:1.21"
		d, err = c.Deployments().Update(t.Context(), d, metav1.UpdateOptions{})
		require.NoError(t, err)
		got := fmt.Sprintf("open after the first start: %t; after an image that nobody has rolled out: %t",
			started, gate(d))
		if got != "open after the first start: true; after an image that nobody has rolled out: false" {
			return errors.New(got)
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A pass that waits for a Deployment returns Requeue: true.
//
// Why: that is the delay for errors. It begins at 5 ms, so the first passes follow each other in a hot loop and find
// nothing new. It doubles up to 16 minutes, so the last ones come late, and a real error waits as long.
// controller-runtime has deprecated the field.
//
// You see: passes for a Deployment that takes ten minutes: want at most 3, got more than 15
//
// Instead: return without an error. The Deployment's own event wakes the operator, for it watches what it makes. Use
// RequeueAfter only for what sends no event.
func TestPitfall_RequeueWhileWaiting(t *testing.T) {
	naive := func(ready bool, next func()) (requeue bool) {
		if !ready {
			return true
		}
		next()
		return false
	}
	right := func(ready bool, next func()) (requeue bool) {
		if ready {
			next()
		}
		return false
	}
	property := func(t *testing.T, step func(ready bool, next func()) bool) error {
		c := startCluster(t)
		d := c.Deploy("nginx:1.20")
		var done notes
		passes := c.operate(watchDeployments, func(ctx context.Context, name string) (bool, error) {
			d, err := c.Deployments().Get(ctx, name, metav1.GetOptions{})
			return err == nil && step(d.Status.ReadyReplicas > 0, func() { done.add("next") }), err
		})
		apiservertest.Pass(10 * time.Minute)
		require.Empty(t, done.all())
		d.Status.Replicas, d.Status.ReadyReplicas = 1, 1
		_, err := c.Deployments().UpdateStatus(t.Context(), d, metav1.UpdateOptions{})
		require.NoError(t, err)
		apiservertest.Pass(time.Second)
		require.NotEmpty(t, done.all(), "the Deployment's event opened the gate")
		return few(t, "passes for a Deployment that takes ten minutes", passes.Load())
	}
	contrast(t, property, naive, right)
}
