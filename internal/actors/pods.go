package actors

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"glasswatch/controller"
)

// How long the containers of a Pod take. Times in objects are whole seconds, so it may be up to one less.
const (
	starting = 2 * time.Second
	running  = 5 * time.Second // unless they are to run for ever
	stopping = 2 * time.Second // after a deletion
)

const nodeName = "node"

// Pods plays the scheduler, and the kubelet of the only node. Make it with [NewPods].
type Pods struct {
	client kubernetes.Interface
	exit   func(*corev1.Pod) int32
	pods   *loop[*corev1.Pod]
	refused
}

// NewPods returns the actor of all namespaces. exit says with which code the containers of a Pod end that is not to run
// for ever. It does nothing before [Pods.Run].
func NewPods(client kubernetes.Interface, exit func(*corev1.Pod) int32) *Pods {
	p := &Pods{client: client, exit: exit, refused: make(refused, 1)}
	p.pods = newLoop("pods", source[*corev1.Pod](client.CoreV1().Pods("")),
		func(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
			after, err := p.sync(ctx, pod.DeepCopy())
			return after, ignoreStale(err)
		})
	return p
}

// Run acts until ctx ends, or until there is a Pod that it cannot play. It returns when its goroutines have ended, and
// may be called once.
func (p *Pods) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	p.pods.run(ctx, group, p.pods.informer.WaitForSync)
	group.Go(func() error { return p.wait(ctx) })
	return group.Wait()
}

// sync does what is due with a Pod, and returns how long the next thing takes.
func (p *Pods) sync(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	status := &pod.Status
	deleted := pod.DeletionTimestamp != nil
	switch {
	case pod.Spec.NodeName == "" && !deleted:
		pod.Spec.NodeName = nodeName
		return 0, p.bind(ctx, pod)
	case pod.Spec.NodeName != nodeName: // another's
		return 0, nil
	case deleted:
		return p.stop(ctx, pod)
	case status.StartTime == nil:
		now := metav1.Now()
		status.StartTime = &now
		setPodCondition(status, corev1.PodScheduled, corev1.ConditionTrue, now)
		return 0, p.write(ctx, pod)
	case status.Phase == corev1.PodPending:
		return later(status.StartTime.Add(starting), func() error {
			p.start(pod)
			return p.write(ctx, pod)
		})
	case status.Phase != corev1.PodRunning || pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return 0, nil
	}
	code := p.exit(pod)
	if code != 0 && pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		return 0, p.refuse(fmt.Errorf("pod %s/%s exits with %d and is to be started again (restartPolicy OnFailure), which is not played: use Never",
			pod.Namespace, pod.Name, code))
	}
	return later(status.StartTime.Add(starting+running), func() error {
		end(pod, code)
		return p.write(ctx, pod)
	})
}

// later calls do when it is due, and returns the time until then.
func later(due time.Time, do func() error) (time.Duration, error) {
	if wait := time.Until(due); wait > 0 {
		return wait, nil
	}
	return 0, do()
}

func (p *Pods) bind(ctx context.Context, pod *corev1.Pod) error {
	_, err := p.client.CoreV1().Pods(pod.Namespace).Update(ctx, pod, metav1.UpdateOptions{FieldManager: "kube-scheduler"})
	return err
}

func (p *Pods) write(ctx context.Context, pod *corev1.Pod) error {
	_, err := p.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: "kubelet"})
	return err
}

// stop ends a deleted Pod: first its containers, then itself. A finalizer may hold it after that.
func (p *Pods) stop(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
	return later(pod.DeletionTimestamp.Add(-max(0, grace-stopping)), func() error {
		const terminated = 128 + 15
		if pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending {
			end(pod, terminated)
			return p.write(ctx, pod) // its event brings the rest
		}
		if grace == 0 {
			return nil
		}
		return p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	})
}

func (p *Pods) start(pod *corev1.Pod) {
	now := metav1.Now()
	pod.Status.Phase = corev1.PodRunning
	for _, c := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		setPodCondition(&pod.Status, c, corev1.ConditionTrue, now)
	}
	for _, c := range pod.Spec.Containers {
		started := true
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: &started,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}})
	}
}

// end gives a Pod the phase that follows from the exit code of its containers.
func end(pod *corev1.Pod, code int32) {
	now, started := metav1.Now(), false
	reason := "Completed"
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		reason = "Error"
		pod.Status.Phase = corev1.PodFailed
	}
	for _, c := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		setPodCondition(&pod.Status, c, corev1.ConditionFalse, now)
	}
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		c.Ready, c.Started = false, &started
		terminated := &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: now}
		if r := c.State.Running; r != nil { // others may have written that it waits
			terminated.StartedAt = r.StartedAt
		}
		c.State = corev1.ContainerState{Terminated: terminated}
	}
}

func setPodCondition(status *corev1.PodStatus, name corev1.PodConditionType, is corev1.ConditionStatus, now metav1.Time) {
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == name {
			if c.Status != is {
				c.Status, c.LastTransitionTime = is, now
			}
			return
		}
	}
	status.Conditions = append(status.Conditions, corev1.PodCondition{Type: name, Status: is, LastTransitionTime: now})
}

// refused takes the first error of an actor that it can do nothing about.
type refused chan error

// refuse ends the actor with err.
func (r refused) refuse(err error) error {
	select {
	case r <- err:
	default: // it ends already
	}
	return controller.Terminal(err)
}

func (r refused) wait(ctx context.Context) error {
	select {
	case err := <-r:
		return err
	case <-ctx.Done():
		return nil
	}
}
