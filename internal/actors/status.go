package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
)

// fieldManager is that of the program in which the real controllers run.
const fieldManager = "kube-controller-manager"

func (w *Workloads) syncDeployment(ctx context.Context, d *appsv1.Deployment) error {
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	status := deploymentStatus(d, wanted, w.readyOf("Deployment", d, d.Status.ReadyReplicas, wanted), metav1.Now())
	if apiequality.Semantic.DeepEqual(d.Status, status) {
		return nil
	}
	d = d.DeepCopy()
	d.Status = status
	_, err := w.client.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, d,
		metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}

// deploymentStatus is what the real controller writes once all Pods are started and ready ones of them are ready.
func deploymentStatus(d *appsv1.Deployment, wanted, ready int32, now metav1.Time) appsv1.DeploymentStatus {
	status := *d.Status.DeepCopy()
	status.ObservedGeneration = d.Generation
	status.Replicas, status.UpdatedReplicas = wanted, wanted
	status.ReadyReplicas, status.AvailableReplicas, status.UnavailableReplicas = ready, ready, wanted-ready
	available := appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue,
		Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability."}
	if ready < wanted-maxUnavailable(d, wanted) {
		available.Status, available.Reason = corev1.ConditionFalse, "MinimumReplicasUnavailable"
		available.Message = "Deployment does not have minimum availability."
	}
	progressing := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue,
		Reason: "NewReplicaSetAvailable", Message: fmt.Sprintf("Deployment %q has successfully progressed.", d.Name)}
	if ready < wanted {
		progressing.Reason = "ReplicaSetUpdated"
		progressing.Message = fmt.Sprintf("Deployment %q is progressing.", d.Name)
	}
	setCondition(&status, available, now)
	setCondition(&status, progressing, now)
	return status
}

// maxUnavailable is how many Pods may be missing while the Deployment counts as available.
func maxUnavailable(d *appsv1.Deployment, wanted int32) int32 {
	rolling := d.Spec.Strategy.RollingUpdate
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || rolling == nil {
		return 0
	}
	percent := func(v *intstr.IntOrString, roundUp bool) int {
		v = intstr.ValueOrDefault(v, intstr.FromInt32(0))
		n, _ := intstr.GetScaledValueFromIntOrPercent(v, int(wanted), roundUp)
		return n
	}
	unavailable := percent(rolling.MaxUnavailable, false)
	if unavailable == 0 && percent(rolling.MaxSurge, true) == 0 {
		unavailable = 1 // else nothing could ever be rolled out
	}
	return min(int32(unavailable), wanted)
}

// setCondition keeps the time of the last transition if the condition's status stays, and both times if all stays.
func setCondition(status *appsv1.DeploymentStatus, c appsv1.DeploymentCondition, now metav1.Time) {
	c.LastUpdateTime, c.LastTransitionTime = now, now
	at := slices.IndexFunc(status.Conditions, func(old appsv1.DeploymentCondition) bool { return old.Type == c.Type })
	if at < 0 {
		status.Conditions = append(status.Conditions, c)
		return
	}
	old := &status.Conditions[at]
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	if old.Status != c.Status || old.Reason != c.Reason {
		*old = c
	}
}

func (w *Workloads) syncStatefulSet(ctx context.Context, s *appsv1.StatefulSet) error {
	wanted := ptr.Deref(s.Spec.Replicas, 1)
	status := statefulSetStatus(s, wanted, w.readyOf("StatefulSet", s, s.Status.ReadyReplicas, wanted))
	if apiequality.Semantic.DeepEqual(s.Status, status) {
		return nil
	}
	s = s.DeepCopy()
	s.Status = status
	_, err := w.client.AppsV1().StatefulSets(s.Namespace).UpdateStatus(ctx, s,
		metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}

// statefulSetStatus is what the real controller writes. Unless Pods are managed in parallel, each one is started only
// when the one before it is ready.
func statefulSetStatus(s *appsv1.StatefulSet, wanted, ready int32) appsv1.StatefulSetStatus {
	status := *s.Status.DeepCopy()
	status.ObservedGeneration = s.Generation
	started := wanted
	if s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		started = min(ready+1, wanted)
	}
	status.Replicas, status.CurrentReplicas, status.UpdatedReplicas = started, started, started
	status.ReadyReplicas, status.AvailableReplicas = ready, ready
	status.UpdateRevision = revision(s)
	if ready == wanted || status.CurrentRevision == "" {
		status.CurrentRevision = status.UpdateRevision
	}
	if status.CollisionCount == nil {
		status.CollisionCount = new(int32)
	}
	return status
}

// revision has the form of a ControllerRevision's name.
func revision(s *appsv1.StatefulSet) string {
	template, err := json.Marshal(s.Spec.Template)
	if err != nil {
		panic(err) // a Go type of the API always has a JSON form
	}
	hash := fnv.New32()
	hash.Write(template)
	return s.Name + "-" + rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}
