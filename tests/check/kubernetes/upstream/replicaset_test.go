package upstream

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/util/retry"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"glasswatch/compat/cache/install"
)

var labels = map[string]string{"app": "web"}

func webPod() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
}

func webSet(replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: webPod(),
		},
	}
}

// runReplicaSets starts upstream's controller; it and its informers have ended when the test ends.
func (w *world) runReplicaSets() {
	w.Helper()
	factory := informers.NewSharedInformerFactory(w.client, 0)
	if err := install.Into(factory, install.Options{}, &appsv1.ReplicaSet{}, &corev1.Pod{}); err != nil {
		w.Fatal(err)
	}
	w.wantOurs(factory.Apps().V1().ReplicaSets().Informer(), factory.Core().V1().Pods().Informer())
	controller := replicaset.NewReplicaSetController(w.ctx,
		factory.Apps().V1().ReplicaSets(), factory.Core().V1().Pods(), w.client, replicaset.BurstReplicas)
	factory.Start(w.ctx.Done())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		controller.Run(w.ctx, 2)
	}()
	w.Cleanup(func() { // the test's context has ended by now
		<-ended
		factory.Shutdown()
	})
}

func TestReplicaSetController_OnOurInformers(t *testing.T) {
	w := newWorld(t)
	w.runReplicaSets()
	sets, pods := w.client.AppsV1().ReplicaSets(w.namespace), w.client.CoreV1().Pods(w.namespace)

	// An orphan that matches exists before the set: it is adopted, not doubled.
	template := webPod()
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: template.Labels}, Spec: template.Spec}
	if _, err := pods.Create(w.ctx, orphan, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	set, err := sets.Create(w.ctx, webSet(5), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	running := w.expectPods(5)
	if running["orphan"] == nil {
		t.Fatalf("the orphan was not kept: %v", running)
	}
	w.eventually("adoption", func() error {
		pod, err := pods.Get(w.ctx, "orphan", metav1.GetOptions{})
		if err == nil && !metav1.IsControlledBy(pod, set) {
			err = fmt.Errorf("its owners are %v", pod.OwnerReferences)
		}
		return err
	})
	w.expectStatus(5)

	// A Pod that is deleted is replaced, and only that one.
	if err := pods.Delete(w.ctx, "orphan", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	w.eventually("the orphan's end", func() error { return gone(pods.Get(w.ctx, "orphan", metav1.GetOptions{})) })
	after := w.expectPods(5)
	for name := range running {
		if name != "orphan" && after[name] == nil {
			t.Errorf("Pod %s was replaced, although nobody deleted it", name)
		}
	}

	w.scale(50)
	w.expectPods(50)
	w.expectStatus(50)
	w.scale(3)
	w.expectPods(3)
	w.expectStatus(3)

	// Every watch breaks in the middle of the work, and the controller goes on to the number that it was asked for.
	w.scale(150)
	w.plane.KillAPIServer()
	if err := w.plane.StartAPIServer(); err != nil {
		t.Fatal(err)
	}
	w.expectStatus(150)
	w.expectPods(150)
}

func (w *world) scale(replicas int32) {
	w.Helper()
	sets := w.client.AppsV1().ReplicaSets(w.namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the controller writes the status meanwhile
		scale, err := sets.GetScale(w.ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		scale.Spec.Replicas = replicas
		_, err = sets.UpdateScale(w.ctx, "web", scale, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}

// expectStatus waits for the controller to have seen, through its cache, what it did.
func (w *world) expectStatus(replicas int32) {
	w.Helper()
	w.eventually("the set's status", func() error {
		set, err := w.client.AppsV1().ReplicaSets(w.namespace).Get(w.ctx, "web", metav1.GetOptions{})
		if err == nil && (set.Status.Replicas != replicas || set.Status.ObservedGeneration != set.Generation) {
			err = fmt.Errorf("replicas %d of generation %d, want %d of generation %d",
				set.Status.Replicas, set.Status.ObservedGeneration, replicas, set.Generation)
		}
		return err
	})
}
