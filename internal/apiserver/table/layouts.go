package table

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/internal/apiserver/resource"
)

// layouts are the built-in kinds that are printed with more, or other, columns than NAME and AGE.
var layouts = map[schema.GroupKind]layout{
	{Kind: "Service"}:        row(serviceColumns, serviceCells),
	{Kind: "Endpoints"}:      row(endpointsColumns, endpointsCells),
	{Kind: "Pod"}:            row(podColumns, podCells),
	{Kind: "Node"}:           row(nodeColumns, nodeCells),
	{Kind: "Namespace"}:      row(namespaceColumns, namespaceCells),
	{Kind: "ConfigMap"}:      row(configMapColumns, configMapCells),
	{Kind: "Secret"}:         row(secretColumns, secretCells),
	{Kind: "ServiceAccount"}: row(serviceAccountColumns, serviceAccountCells),
	{Kind: "Event"}:          row(eventColumns, coreEventCells),

	{Group: "events.k8s.io", Kind: "Event"}: row(eventColumns, eventCells),

	{Group: "apps", Kind: "Deployment"}:  row(deploymentColumns, deploymentCells),
	{Group: "apps", Kind: "ReplicaSet"}:  row(replicaSetColumns, replicaSetCells),
	{Group: "apps", Kind: "StatefulSet"}: row(statefulSetColumns, statefulSetCells),
	{Group: "apps", Kind: "DaemonSet"}:   row(daemonSetColumns, daemonSetCells),

	{Group: "networking.k8s.io", Kind: "Ingress"}:       row(ingressColumns, ingressCells),
	{Group: "networking.k8s.io", Kind: "IngressClass"}:  row(ingressClassColumns, ingressClassCells),
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}: row(networkPolicyColumns, networkPolicyCells),

	{Group: "coordination.k8s.io", Kind: "Lease"}:      row(leaseColumns, leaseCells),
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}: row(endpointSliceColumns, endpointSliceCells),

	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: nameAndCreated,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                nameAndCreated,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:         nameAndCreated,
}

// conditions marks pods that have run to their end, so that clients may hide them.
func conditions(obj resource.Object) []metav1.TableRowCondition {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(corev1.PodSucceeded), Message: "The pod has completed successfully."}}
	case corev1.PodFailed:
		return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(corev1.PodFailed), Message: "The pod failed."}}
	}
	return nil
}
