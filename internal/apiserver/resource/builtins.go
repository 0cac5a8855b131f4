package resource

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// flags of a row of the table below.
const (
	namespaced = 1 << iota
	status
	generation
	all // the category "all"
)

type row struct {
	plural, kind string
	flags        int
	shortNames   string // separated by blanks
}

type group struct {
	gv   schema.GroupVersion
	rows []row
}

// The groups in the order in which discovery lists them.
var builtinGroups = []group{
	{schema.GroupVersion{Version: "v1"}, []row{
		{"configmaps", "ConfigMap", namespaced, "cm"},
		{"endpoints", "Endpoints", namespaced, "ep"},
		{"events", "Event", namespaced, "ev"},
		{"limitranges", "LimitRange", namespaced, "limits"},
		{"namespaces", "Namespace", status, "ns"},
		{"nodes", "Node", status, "no"},
		{"persistentvolumeclaims", "PersistentVolumeClaim", namespaced | status, "pvc"},
		{"persistentvolumes", "PersistentVolume", status, "pv"},
		{"pods", "Pod", namespaced | status | generation | all, "po"},
		{"podtemplates", "PodTemplate", namespaced | generation, ""},
		{"replicationcontrollers", "ReplicationController", namespaced | status | generation | all, "rc"},
		{"resourcequotas", "ResourceQuota", namespaced | status, "quota"},
		{"secrets", "Secret", namespaced, ""},
		{"serviceaccounts", "ServiceAccount", namespaced, "sa"},
		{"services", "Service", namespaced | status | all, "svc"},
	}},
	{schema.GroupVersion{Group: "apps", Version: "v1"}, []row{
		{"controllerrevisions", "ControllerRevision", namespaced, ""},
		{"daemonsets", "DaemonSet", namespaced | status | generation | all, "ds"},
		{"deployments", "Deployment", namespaced | status | generation | all, "deploy"},
		{"replicasets", "ReplicaSet", namespaced | status | generation | all, "rs"},
		{"statefulsets", "StatefulSet", namespaced | status | generation | all, "sts"},
	}},
	{schema.GroupVersion{Group: "events.k8s.io", Version: "v1"}, []row{
		{"events", "Event", namespaced, "ev"},
	}},
	{schema.GroupVersion{Group: "autoscaling", Version: "v2"}, []row{
		{"horizontalpodautoscalers", "HorizontalPodAutoscaler", namespaced | status | generation | all, "hpa"},
	}},
	{schema.GroupVersion{Group: "batch", Version: "v1"}, []row{
		{"cronjobs", "CronJob", namespaced | status | generation | all, "cj"},
		{"jobs", "Job", namespaced | status | generation | all, ""},
	}},
	{schema.GroupVersion{Group: "networking.k8s.io", Version: "v1"}, []row{
		{"ingressclasses", "IngressClass", generation, ""},
		{"ingresses", "Ingress", namespaced | status | generation, "ing"},
		{"networkpolicies", "NetworkPolicy", namespaced | generation, "netpol"},
	}},
	{schema.GroupVersion{Group: "policy", Version: "v1"}, []row{
		{"poddisruptionbudgets", "PodDisruptionBudget", namespaced | status | generation, "pdb"},
	}},
	{schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}, []row{
		{"clusterrolebindings", "ClusterRoleBinding", 0, ""},
		{"clusterroles", "ClusterRole", 0, ""},
		{"rolebindings", "RoleBinding", namespaced, ""},
		{"roles", "Role", namespaced, ""},
	}},
	{schema.GroupVersion{Group: "storage.k8s.io", Version: "v1"}, []row{
		{"csidrivers", "CSIDriver", generation, ""},
		{"csinodes", "CSINode", 0, ""},
		{"csistoragecapacities", "CSIStorageCapacity", namespaced, ""},
		{"storageclasses", "StorageClass", 0, "sc"},
		{"volumeattachments", "VolumeAttachment", status, ""},
	}},
	{schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}, []row{
		{"mutatingwebhookconfigurations", "MutatingWebhookConfiguration", generation, ""},
		{"validatingwebhookconfigurations", "ValidatingWebhookConfiguration", generation, ""},
	}},
	{schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}, []row{
		{"customresourcedefinitions", "CustomResourceDefinition", status | generation, "crd crds"},
	}},
	{schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v1"}, []row{
		{"priorityclasses", "PriorityClass", generation, "pc"},
	}},
	{schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}, []row{
		{"leases", "Lease", namespaced, ""},
	}},
	{schema.GroupVersion{Group: "node.k8s.io", Version: "v1"}, []row{
		{"runtimeclasses", "RuntimeClass", 0, ""},
	}},
	{schema.GroupVersion{Group: "discovery.k8s.io", Version: "v1"}, []row{
		{"endpointslices", "EndpointSlice", namespaced | generation, ""},
	}},
}

// Builtins returns the built-in resources in the order of discovery. The slice is the caller's; the Infos are fresh.
func Builtins() []*Info {
	var infos []*Info
	for _, g := range builtinGroups {
		for _, r := range g.rows {
			infos = append(infos, r.info(g.gv))
		}
	}
	return infos
}

func (r row) info(gv schema.GroupVersion) *Info {
	gvk := gv.WithKind(r.kind)
	i := &Info{
		GVR:        gv.WithResource(r.plural),
		GVK:        gvk,
		ListKind:   r.kind + "List",
		Singular:   strings.ToLower(r.kind),
		ShortNames: strings.Fields(r.shortNames),
		Namespaced: r.flags&namespaced != 0,
		Status:     r.flags&status != 0,
		Generation: r.flags&generation != 0,
		New:        func() Object { return mustNew(gvk).(Object) },
		NewList:    func() runtime.Object { return mustNew(gv.WithKind(r.kind + "List")) },
	}
	switch {
	case r.flags&all != 0:
		i.Categories = []string{"all"}
	case gvk.Group == "apiextensions.k8s.io" || gvk.Group == "admissionregistration.k8s.io":
		i.Categories = []string{"api-extensions"}
	}
	return i
}

func mustNew(gvk schema.GroupVersionKind) runtime.Object {
	obj, err := Scheme.New(gvk)
	if err != nil {
		panic(fmt.Sprintf("resource: %v is not in the scheme", gvk)) // a wrong row; a test checks all
	}
	return obj
}
