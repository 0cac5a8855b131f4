package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
	"glasswatch/controller"
	"glasswatch/listwatch"
)

// Reasons and messages of Events.
const (
	reasonSynced  = "Synced"
	reasonExists  = "ErrResourceExists"
	messageSynced = "Foo synced successfully"
	messageExists = "Resource %q already exists and is not managed by Foo"
)

func (c *Controller) reconcile(ctx context.Context, key listwatch.Key) (controller.Result, error) {
	return controller.Result{}, c.sync(klog.NewContext(ctx, c.logger), key)
}

// sync makes the Deployment as the Foo asks, and the Foo's status as the Deployment's.
func (c *Controller) sync(ctx context.Context, key listwatch.Key) error {
	foo, err := c.foos.Lister().Namespace(key.Namespace).Get(key.Name)
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Foo referenced by item in work queue no longer exists",
			"objectReference", key)
		return nil
	}
	if foo.DeletionTimestamp != nil {
		return nil // a Deployment that came back now would hold up the deletion
	}
	if foo.Spec.DeploymentName == "" {
		// A retry would not help. The next change of the Foo enqueues it.
		utilruntime.HandleErrorWithContext(ctx, nil, "Deployment name missing from object reference", "objectReference",
			key)
		return nil
	}
	deployment, err := c.deployments.Lister().Namespace(foo.Namespace).Get(foo.Spec.DeploymentName)
	if apierrors.IsNotFound(err) {
		gone, askErr := c.isGone(ctx, foo)
		if gone || askErr != nil {
			return askErr // the cache will see that it is gone
		}
		deployment, err = c.kube.AppsV1().Deployments(foo.Namespace).Create(ctx, newDeployment(foo),
			metav1.CreateOptions{FieldManager: agentName})
	}
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(deployment, foo) {
		message := fmt.Sprintf(messageExists, deployment.Name)
		c.Recorder.Event(foo, corev1.EventTypeWarning, reasonExists, message)
		return errors.New(message)
	}
	if wanted := foo.Spec.Replicas; wanted != nil && (deployment.Spec.Replicas == nil ||
		*deployment.Spec.Replicas != *wanted) {
		if deployment, err = c.scale(ctx, deployment, *wanted); err != nil {
			return err
		}
	}
	if err := c.updateStatus(ctx, foo, deployment); err != nil {
		return err
	}
	c.Recorder.Event(foo, corev1.EventTypeNormal, reasonSynced, messageSynced)
	return nil
}

// isGone asks the API server whether the cached Foo has been deleted meanwhile. If its Deployment were created then, the garbage collector
// would delete it at once, that would lead here again, and so on until the cache sees the deletion.
func (c *Controller) isGone(ctx context.Context, foo *v1alpha1.Foo) (bool, error) {
	now, err := c.client(foo.Namespace).Get(ctx, foo.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return now.UID != foo.UID || now.DeletionTimestamp != nil, nil
}

// scale changes nothing else, and nothing that has changed since the cache saw it: then the API server answers with a
// conflict, and the sync is retried.
func (c *Controller) scale(ctx context.Context, deployment *appsv1.Deployment, replicas int32) (*appsv1.Deployment,
	error) {
	klog.FromContext(ctx).V(4).Info("Update deployment resource", "currentReplicas", deployment.Spec.Replicas,
		"desiredReplicas", replicas)
	deployment = deployment.DeepCopy() // the cache's is shared
	deployment.Spec.Replicas = &replicas
	return c.kube.AppsV1().Deployments(deployment.Namespace).Update(ctx, deployment,
		metav1.UpdateOptions{FieldManager: agentName})
}

// updateStatus also writes a first 0, so that a Foo whose Deployment never gets available says so.
func (c *Controller) updateStatus(ctx context.Context, foo *v1alpha1.Foo, deployment *appsv1.Deployment) error {
	if said := foo.Status.AvailableReplicas; said != nil && *said == deployment.Status.AvailableReplicas {
		return nil
	}
	foo = foo.DeepCopy()
	foo.Status.AvailableReplicas = new(deployment.Status.AvailableReplicas)
	_, err := c.client(foo.Namespace).UpdateStatus(ctx, foo, metav1.UpdateOptions{FieldManager: agentName})
	return err
}

// newDeployment returns the Deployment of a Foo. It is a function of the Foo alone.
func newDeployment(foo *v1alpha1.Foo) *appsv1.Deployment {
	labels := map[string]string{"app": "nginx", "controller": foo.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name:            foo.Spec.DeploymentName,
			Namespace:       foo.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(foo, v1alpha1.Kind)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: foo.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:latest"}}},
			},
		},
	}
}
