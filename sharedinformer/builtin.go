package sharedinformer

import (
	"reflect"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	nodev1beta1 "k8s.io/api/node/v1beta1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/listwatch"
)

// builtin is a type of the client-go scheme that a server has a resource for, with what the scheme does not say: the plural
// and the scope. It names the type and makes nothing of it: an Informer[T] for each would cost every program that uses a
// factory 190 of them, in megabytes and minutes of compiling.
type builtin struct {
	resource
	goType reflect.Type
}

type builtinTable struct {
	byResource map[schema.GroupVersionResource]builtin
	byType     map[reflect.Type]builtin
}

// builtins holds the resources that client-go's own factory has informers for.
var builtins = sync.OnceValue(func() *builtinTable {
	t := &builtinTable{map[schema.GroupVersionResource]builtin{}, map[reflect.Type]builtin{}}

	gv := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	cluster[*admissionregistrationv1.MutatingAdmissionPolicy](t, gv, "mutatingadmissionpolicies")
	cluster[*admissionregistrationv1.MutatingAdmissionPolicyBinding](t, gv, "mutatingadmissionpolicybindings")
	cluster[*admissionregistrationv1.MutatingWebhookConfiguration](t, gv, "mutatingwebhookconfigurations")
	cluster[*admissionregistrationv1.ValidatingAdmissionPolicy](t, gv, "validatingadmissionpolicies")
	cluster[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, gv, "validatingadmissionpolicybindings")
	cluster[*admissionregistrationv1.ValidatingWebhookConfiguration](t, gv, "validatingwebhookconfigurations")

	gv = schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1alpha1"}
	cluster[*admissionregistrationv1alpha1.MutatingAdmissionPolicy](t, gv, "mutatingadmissionpolicies")
	cluster[*admissionregistrationv1alpha1.MutatingAdmissionPolicyBinding](t, gv, "mutatingadmissionpolicybindings")
	cluster[*admissionregistrationv1alpha1.ValidatingAdmissionPolicy](t, gv, "validatingadmissionpolicies")
	cluster[*admissionregistrationv1alpha1.ValidatingAdmissionPolicyBinding](t, gv, "validatingadmissionpolicybindings")

	gv = schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1beta1"}
	cluster[*admissionregistrationv1beta1.MutatingAdmissionPolicy](t, gv, "mutatingadmissionpolicies")
	cluster[*admissionregistrationv1beta1.MutatingAdmissionPolicyBinding](t, gv, "mutatingadmissionpolicybindings")
	cluster[*admissionregistrationv1beta1.MutatingWebhookConfiguration](t, gv, "mutatingwebhookconfigurations")
	cluster[*admissionregistrationv1beta1.ValidatingAdmissionPolicy](t, gv, "validatingadmissionpolicies")
	cluster[*admissionregistrationv1beta1.ValidatingAdmissionPolicyBinding](t, gv, "validatingadmissionpolicybindings")
	cluster[*admissionregistrationv1beta1.ValidatingWebhookConfiguration](t, gv, "validatingwebhookconfigurations")

	gv = schema.GroupVersion{Group: "apps", Version: "v1"}
	namespaced[*appsv1.ControllerRevision](t, gv, "controllerrevisions")
	namespaced[*appsv1.DaemonSet](t, gv, "daemonsets")
	namespaced[*appsv1.Deployment](t, gv, "deployments")
	namespaced[*appsv1.ReplicaSet](t, gv, "replicasets")
	namespaced[*appsv1.StatefulSet](t, gv, "statefulsets")

	gv = schema.GroupVersion{Group: "apps", Version: "v1beta1"}
	namespaced[*appsv1beta1.ControllerRevision](t, gv, "controllerrevisions")
	namespaced[*appsv1beta1.Deployment](t, gv, "deployments")
	namespaced[*appsv1beta1.StatefulSet](t, gv, "statefulsets")

	gv = schema.GroupVersion{Group: "apps", Version: "v1beta2"}
	namespaced[*appsv1beta2.ControllerRevision](t, gv, "controllerrevisions")
	namespaced[*appsv1beta2.DaemonSet](t, gv, "daemonsets")
	namespaced[*appsv1beta2.Deployment](t, gv, "deployments")
	namespaced[*appsv1beta2.ReplicaSet](t, gv, "replicasets")
	namespaced[*appsv1beta2.StatefulSet](t, gv, "statefulsets")

	gv = schema.GroupVersion{Group: "autoscaling", Version: "v1"}
	namespaced[*autoscalingv1.HorizontalPodAutoscaler](t, gv, "horizontalpodautoscalers")

	gv = schema.GroupVersion{Group: "autoscaling", Version: "v2"}
	namespaced[*autoscalingv2.HorizontalPodAutoscaler](t, gv, "horizontalpodautoscalers")

	gv = schema.GroupVersion{Group: "batch", Version: "v1"}
	namespaced[*batchv1.CronJob](t, gv, "cronjobs")
	namespaced[*batchv1.Job](t, gv, "jobs")

	gv = schema.GroupVersion{Group: "batch", Version: "v1beta1"}
	namespaced[*batchv1beta1.CronJob](t, gv, "cronjobs")

	gv = schema.GroupVersion{Group: "certificates.k8s.io", Version: "v1"}
	cluster[*certificatesv1.CertificateSigningRequest](t, gv, "certificatesigningrequests")
	cluster[*certificatesv1.ClusterTrustBundle](t, gv, "clustertrustbundles")
	namespaced[*certificatesv1.PodCertificateRequest](t, gv, "podcertificaterequests")

	gv = schema.GroupVersion{Group: "certificates.k8s.io", Version: "v1alpha1"}
	cluster[*certificatesv1alpha1.ClusterTrustBundle](t, gv, "clustertrustbundles")

	gv = schema.GroupVersion{Group: "certificates.k8s.io", Version: "v1beta1"}
	cluster[*certificatesv1beta1.CertificateSigningRequest](t, gv, "certificatesigningrequests")
	cluster[*certificatesv1beta1.ClusterTrustBundle](t, gv, "clustertrustbundles")
	namespaced[*certificatesv1beta1.PodCertificateRequest](t, gv, "podcertificaterequests")

	gv = schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}
	namespaced[*coordinationv1.Lease](t, gv, "leases")

	gv = schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1alpha2"}
	namespaced[*coordinationv1alpha2.LeaseCandidate](t, gv, "leasecandidates")

	gv = schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1beta1"}
	namespaced[*coordinationv1beta1.Lease](t, gv, "leases")
	namespaced[*coordinationv1beta1.LeaseCandidate](t, gv, "leasecandidates")

	gv = schema.GroupVersion{Group: "", Version: "v1"}
	cluster[*corev1.ComponentStatus](t, gv, "componentstatuses")
	namespaced[*corev1.ConfigMap](t, gv, "configmaps")
	//lint:ignore SA1019 deprecated or not, servers have it and people watch it
	namespaced[*corev1.Endpoints](t, gv, "endpoints")
	namespaced[*corev1.Event](t, gv, "events")
	namespaced[*corev1.LimitRange](t, gv, "limitranges")
	cluster[*corev1.Namespace](t, gv, "namespaces")
	cluster[*corev1.Node](t, gv, "nodes")
	cluster[*corev1.PersistentVolume](t, gv, "persistentvolumes")
	namespaced[*corev1.PersistentVolumeClaim](t, gv, "persistentvolumeclaims")
	namespaced[*corev1.Pod](t, gv, "pods")
	namespaced[*corev1.PodTemplate](t, gv, "podtemplates")
	namespaced[*corev1.ReplicationController](t, gv, "replicationcontrollers")
	namespaced[*corev1.ResourceQuota](t, gv, "resourcequotas")
	namespaced[*corev1.Secret](t, gv, "secrets")
	namespaced[*corev1.Service](t, gv, "services")
	namespaced[*corev1.ServiceAccount](t, gv, "serviceaccounts")

	gv = schema.GroupVersion{Group: "discovery.k8s.io", Version: "v1"}
	namespaced[*discoveryv1.EndpointSlice](t, gv, "endpointslices")

	gv = schema.GroupVersion{Group: "discovery.k8s.io", Version: "v1beta1"}
	namespaced[*discoveryv1beta1.EndpointSlice](t, gv, "endpointslices")

	gv = schema.GroupVersion{Group: "events.k8s.io", Version: "v1"}
	namespaced[*eventsv1.Event](t, gv, "events")

	gv = schema.GroupVersion{Group: "events.k8s.io", Version: "v1beta1"}
	namespaced[*eventsv1beta1.Event](t, gv, "events")

	gv = schema.GroupVersion{Group: "extensions", Version: "v1beta1"}
	namespaced[*extensionsv1beta1.DaemonSet](t, gv, "daemonsets")
	namespaced[*extensionsv1beta1.Deployment](t, gv, "deployments")
	namespaced[*extensionsv1beta1.Ingress](t, gv, "ingresses")
	namespaced[*extensionsv1beta1.NetworkPolicy](t, gv, "networkpolicies")
	namespaced[*extensionsv1beta1.ReplicaSet](t, gv, "replicasets")

	gv = schema.GroupVersion{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}
	cluster[*flowcontrolv1.FlowSchema](t, gv, "flowschemas")
	cluster[*flowcontrolv1.PriorityLevelConfiguration](t, gv, "prioritylevelconfigurations")

	gv = schema.GroupVersion{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta1"}
	cluster[*flowcontrolv1beta1.FlowSchema](t, gv, "flowschemas")
	cluster[*flowcontrolv1beta1.PriorityLevelConfiguration](t, gv, "prioritylevelconfigurations")

	gv = schema.GroupVersion{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta2"}
	cluster[*flowcontrolv1beta2.FlowSchema](t, gv, "flowschemas")
	cluster[*flowcontrolv1beta2.PriorityLevelConfiguration](t, gv, "prioritylevelconfigurations")

	gv = schema.GroupVersion{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3"}
	cluster[*flowcontrolv1beta3.FlowSchema](t, gv, "flowschemas")
	cluster[*flowcontrolv1beta3.PriorityLevelConfiguration](t, gv, "prioritylevelconfigurations")

	gv = schema.GroupVersion{Group: "internal.apiserver.k8s.io", Version: "v1alpha1"}
	cluster[*apiserverinternalv1alpha1.StorageVersion](t, gv, "storageversions")

	gv = schema.GroupVersion{Group: "lifecycle.k8s.io", Version: "v1alpha1"}
	namespaced[*lifecyclev1alpha1.Eviction](t, gv, "evictions")
	namespaced[*lifecyclev1alpha1.EvictionRequest](t, gv, "evictionrequests")

	gv = schema.GroupVersion{Group: "networking.k8s.io", Version: "v1"}
	cluster[*networkingv1.IPAddress](t, gv, "ipaddresses")
	namespaced[*networkingv1.Ingress](t, gv, "ingresses")
	cluster[*networkingv1.IngressClass](t, gv, "ingressclasses")
	namespaced[*networkingv1.NetworkPolicy](t, gv, "networkpolicies")
	cluster[*networkingv1.ServiceCIDR](t, gv, "servicecidrs")

	gv = schema.GroupVersion{Group: "networking.k8s.io", Version: "v1beta1"}
	cluster[*networkingv1beta1.IPAddress](t, gv, "ipaddresses")
	namespaced[*networkingv1beta1.Ingress](t, gv, "ingresses")
	cluster[*networkingv1beta1.IngressClass](t, gv, "ingressclasses")
	cluster[*networkingv1beta1.ServiceCIDR](t, gv, "servicecidrs")

	gv = schema.GroupVersion{Group: "node.k8s.io", Version: "v1"}
	cluster[*nodev1.RuntimeClass](t, gv, "runtimeclasses")

	gv = schema.GroupVersion{Group: "node.k8s.io", Version: "v1alpha1"}
	cluster[*nodev1alpha1.RuntimeClass](t, gv, "runtimeclasses")

	gv = schema.GroupVersion{Group: "node.k8s.io", Version: "v1beta1"}
	cluster[*nodev1beta1.RuntimeClass](t, gv, "runtimeclasses")

	gv = schema.GroupVersion{Group: "policy", Version: "v1"}
	namespaced[*policyv1.PodDisruptionBudget](t, gv, "poddisruptionbudgets")

	gv = schema.GroupVersion{Group: "policy", Version: "v1beta1"}
	namespaced[*policyv1beta1.PodDisruptionBudget](t, gv, "poddisruptionbudgets")

	gv = schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	cluster[*rbacv1.ClusterRole](t, gv, "clusterroles")
	cluster[*rbacv1.ClusterRoleBinding](t, gv, "clusterrolebindings")
	namespaced[*rbacv1.Role](t, gv, "roles")
	namespaced[*rbacv1.RoleBinding](t, gv, "rolebindings")

	gv = schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1alpha1"}
	cluster[*rbacv1alpha1.ClusterRole](t, gv, "clusterroles")
	cluster[*rbacv1alpha1.ClusterRoleBinding](t, gv, "clusterrolebindings")
	namespaced[*rbacv1alpha1.Role](t, gv, "roles")
	namespaced[*rbacv1alpha1.RoleBinding](t, gv, "rolebindings")

	gv = schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1beta1"}
	cluster[*rbacv1beta1.ClusterRole](t, gv, "clusterroles")
	cluster[*rbacv1beta1.ClusterRoleBinding](t, gv, "clusterrolebindings")
	namespaced[*rbacv1beta1.Role](t, gv, "roles")
	namespaced[*rbacv1beta1.RoleBinding](t, gv, "rolebindings")

	gv = schema.GroupVersion{Group: "resource.k8s.io", Version: "v1"}
	cluster[*resourcev1.DeviceClass](t, gv, "deviceclasses")
	cluster[*resourcev1.DeviceTaintRule](t, gv, "devicetaintrules")
	namespaced[*resourcev1.ResourceClaim](t, gv, "resourceclaims")
	namespaced[*resourcev1.ResourceClaimTemplate](t, gv, "resourceclaimtemplates")
	cluster[*resourcev1.ResourceSlice](t, gv, "resourceslices")

	gv = schema.GroupVersion{Group: "resource.k8s.io", Version: "v1alpha3"}
	cluster[*resourcev1alpha3.DeviceTaintRule](t, gv, "devicetaintrules")
	cluster[*resourcev1alpha3.ResourcePoolStatusRequest](t, gv, "resourcepoolstatusrequests")

	gv = schema.GroupVersion{Group: "resource.k8s.io", Version: "v1beta1"}
	cluster[*resourcev1beta1.DeviceClass](t, gv, "deviceclasses")
	namespaced[*resourcev1beta1.ResourceClaim](t, gv, "resourceclaims")
	namespaced[*resourcev1beta1.ResourceClaimTemplate](t, gv, "resourceclaimtemplates")
	cluster[*resourcev1beta1.ResourceSlice](t, gv, "resourceslices")

	gv = schema.GroupVersion{Group: "resource.k8s.io", Version: "v1beta2"}
	cluster[*resourcev1beta2.DeviceClass](t, gv, "deviceclasses")
	cluster[*resourcev1beta2.DeviceTaintRule](t, gv, "devicetaintrules")
	namespaced[*resourcev1beta2.ResourceClaim](t, gv, "resourceclaims")
	namespaced[*resourcev1beta2.ResourceClaimTemplate](t, gv, "resourceclaimtemplates")
	cluster[*resourcev1beta2.ResourceSlice](t, gv, "resourceslices")

	gv = schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v1"}
	cluster[*schedulingv1.PriorityClass](t, gv, "priorityclasses")

	gv = schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v1alpha3"}
	namespaced[*schedulingv1alpha3.CompositePodGroup](t, gv, "compositepodgroups")
	namespaced[*schedulingv1alpha3.PodGroup](t, gv, "podgroups")
	namespaced[*schedulingv1alpha3.Workload](t, gv, "workloads")

	gv = schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v1beta1"}
	namespaced[*schedulingv1beta1.PodGroup](t, gv, "podgroups")
	cluster[*schedulingv1beta1.PriorityClass](t, gv, "priorityclasses")
	namespaced[*schedulingv1beta1.Workload](t, gv, "workloads")

	gv = schema.GroupVersion{Group: "storage.k8s.io", Version: "v1"}
	cluster[*storagev1.CSIDriver](t, gv, "csidrivers")
	cluster[*storagev1.CSINode](t, gv, "csinodes")
	namespaced[*storagev1.CSIStorageCapacity](t, gv, "csistoragecapacities")
	cluster[*storagev1.StorageClass](t, gv, "storageclasses")
	cluster[*storagev1.VolumeAttachment](t, gv, "volumeattachments")
	cluster[*storagev1.VolumeAttributesClass](t, gv, "volumeattributesclasses")

	gv = schema.GroupVersion{Group: "storage.k8s.io", Version: "v1alpha1"}
	namespaced[*storagev1alpha1.CSIStorageCapacity](t, gv, "csistoragecapacities")
	cluster[*storagev1alpha1.VolumeAttachment](t, gv, "volumeattachments")
	cluster[*storagev1alpha1.VolumeAttributesClass](t, gv, "volumeattributesclasses")

	gv = schema.GroupVersion{Group: "storage.k8s.io", Version: "v1beta1"}
	cluster[*storagev1beta1.CSIDriver](t, gv, "csidrivers")
	cluster[*storagev1beta1.CSINode](t, gv, "csinodes")
	namespaced[*storagev1beta1.CSIStorageCapacity](t, gv, "csistoragecapacities")
	cluster[*storagev1beta1.StorageClass](t, gv, "storageclasses")
	cluster[*storagev1beta1.VolumeAttachment](t, gv, "volumeattachments")
	cluster[*storagev1beta1.VolumeAttributesClass](t, gv, "volumeattributesclasses")

	gv = schema.GroupVersion{Group: "storagemigration.k8s.io", Version: "v1"}
	cluster[*storagemigrationv1.StorageVersionMigration](t, gv, "storageversionmigrations")

	gv = schema.GroupVersion{Group: "storagemigration.k8s.io", Version: "v1beta1"}
	cluster[*storagemigrationv1beta1.StorageVersionMigration](t, gv, "storageversionmigrations")
	return t
})

func namespaced[T listwatch.Object](t *builtinTable, gv schema.GroupVersion, plural string) {
	add[T](t, resource{gv.WithResource(plural), true})
}

func cluster[T listwatch.Object](t *builtinTable, gv schema.GroupVersion, plural string) {
	add[T](t, resource{gv.WithResource(plural), false})
}

func add[T listwatch.Object](t *builtinTable, res resource) {
	b := builtin{res, reflect.TypeFor[T]()}
	t.byResource[res.gvr] = b
	t.byType[b.goType] = b
}
