package table

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	containersDoc = "Names of each container in the template."
	imagesDoc     = "Images referenced by each container in the template."
)

var (
	deploymentDocs    = appsv1.DeploymentStatus{}.SwaggerDoc()
	deploymentColumns = []metav1.TableColumnDefinition{
		nameColumn,
		column("Ready", "Number of the pod with ready state"),
		column("Up-to-date", deploymentDocs["updatedReplicas"]),
		column("Available", deploymentDocs["availableReplicas"]),
		ageColumn,
		wide("Containers", containersDoc),
		wide("Images", imagesDoc),
		wide("Selector", appsv1.DeploymentSpec{}.SwaggerDoc()["selector"]),
	}
)

func deploymentCells(d *appsv1.Deployment) []any {
	names, images := containers(d.Spec.Template.Spec)
	return []any{d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, replicas(d.Spec.Replicas)), int64(d.Status.UpdatedReplicas),
		int64(d.Status.AvailableReplicas), age(d), names, images, selector(d.Spec.Selector)}
}

var (
	replicaSetDocs    = appsv1.ReplicaSetStatus{}.SwaggerDoc()
	replicaSetColumns = []metav1.TableColumnDefinition{
		nameColumn,
		integer("Desired", appsv1.ReplicaSetSpec{}.SwaggerDoc()["replicas"]),
		integer("Current", replicaSetDocs["replicas"]),
		integer("Ready", replicaSetDocs["readyReplicas"]),
		ageColumn,
		wide("Containers", containersDoc),
		wide("Images", imagesDoc),
		wide("Selector", appsv1.ReplicaSetSpec{}.SwaggerDoc()["selector"]),
	}
)

func replicaSetCells(r *appsv1.ReplicaSet) []any {
	names, images := containers(r.Spec.Template.Spec)
	return []any{r.Name, int64(replicas(r.Spec.Replicas)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas), age(r),
		names, images, selector(r.Spec.Selector)}
}

var statefulSetColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Ready", "Number of the pod with ready state"), ageColumn, wide("Containers", containersDoc), wide("Images", imagesDoc),
}

func statefulSetCells(s *appsv1.StatefulSet) []any {
	names, images := containers(s.Spec.Template.Spec)
	return []any{s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, replicas(s.Spec.Replicas)), age(s), names, images}
}

var (
	daemonSetDocs    = appsv1.DaemonSetStatus{}.SwaggerDoc()
	daemonSetColumns = []metav1.TableColumnDefinition{
		nameColumn,
		integer("Desired", daemonSetDocs["desiredNumberScheduled"]),
		integer("Current", daemonSetDocs["currentNumberScheduled"]),
		integer("Ready", daemonSetDocs["numberReady"]),
		integer("Up-to-date", daemonSetDocs["updatedNumberScheduled"]),
		integer("Available", daemonSetDocs["numberAvailable"]),
		column("Node Selector", corev1.PodSpec{}.SwaggerDoc()["nodeSelector"]),
		ageColumn,
		wide("Containers", containersDoc),
		wide("Images", imagesDoc),
		wide("Selector", appsv1.DaemonSetSpec{}.SwaggerDoc()["selector"]),
	}
)

func daemonSetCells(d *appsv1.DaemonSet) []any {
	names, images := containers(d.Spec.Template.Spec)
	s := d.Status
	return []any{d.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady), int64(s.UpdatedNumberScheduled),
		int64(s.NumberAvailable), labels.FormatLabels(d.Spec.Template.Spec.NodeSelector), age(d), names, images, selector(d.Spec.Selector)}
}

// replicas of a spec that leaves them out are 1: the server defaults them.
func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func containers(spec corev1.PodSpec) (names, images string) {
	var n, i []string
	for _, c := range spec.Containers {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

func selector(s *metav1.LabelSelector) string {
	return metav1.FormatLabelSelector(s)
}
