package apiserver

import (
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"

	"glasswatch/internal/apiserver/resource"
)

var (
	namespacesResource = schema.GroupResource{Resource: "namespaces"}
	servicesResource   = schema.GroupResource{Resource: "services"}
	crdResource        = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
)

// bootstrap stores what every cluster has from the start.
func (s *Server) bootstrap() {
	for _, name := range []string{"default", "kube-node-lease", "kube-public", "kube-system"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_ = s.install(namespacesResource, ns, "v1", "Namespace") // the store is empty, so no name can be taken
	}
	kubernetes := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kubernetes", Namespace: "default",
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}},
	}
	_ = s.install(servicesResource, kubernetes, "v1", "Service")
}

func (s *Server) install(gr schema.GroupResource, obj resource.Object, apiVersion, kind string) error {
	obj.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	obj.SetUID(uuid.NewUUID())
	obj.SetCreationTimestamp(now())
	applyDefaults(obj)
	s.prepareForCreate(obj)
	return s.store.Create(gr, keyOf(obj.GetNamespace(), obj.GetName()), obj)
}

// prepareForCreate does what a real server's strategy for the kind does before validation.
func (s *Server) prepareForCreate(obj resource.Object) {
	switch o := obj.(type) {
	case *corev1.Namespace:
		defaultNamespace(o)
		o.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
		o.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort}
	case *corev1.Service:
		s.allocate(o)
	case *corev1.PersistentVolumeClaim:
		o.Status.Phase = corev1.ClaimPending
	case *batchv1.Job:
		if !ptr.Deref(o.Spec.ManualSelector, false) {
			selectByUID(o)
		}
		defaultJobLabels(o) // as a real server does whenever it reads one from etcd
		o.Labels = maps.Clone(o.Labels)
	}
}

// selectByUID gives a Job's Pods the labels, and the Job the selector, that only it has. Those that it has already stay.
func selectByUID(job *batchv1.Job) {
	if job.Spec.Template.Labels == nil {
		job.Spec.Template.Labels = map[string]string{}
	}
	labels := job.Spec.Template.Labels // also the Job's own, if it had none
	name, uid := job.Name, string(job.UID)
	for key, value := range map[string]string{batchv1.JobNameLabel: name, "job-name": name, batchv1.ControllerUidLabel: uid, "controller-uid": uid} {
		if _, found := labels[key]; !found {
			labels[key] = value
		}
	}
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	metav1.AddLabelToSelector(job.Spec.Selector, batchv1.ControllerUidLabel, labels[batchv1.ControllerUidLabel])
}

func (s *Server) prepareForUpdate(obj, old resource.Object) {
	switch o := obj.(type) {
	case *corev1.Service:
		before, ok := old.(*corev1.Service)
		if ok && o.Spec.Type != corev1.ServiceTypeExternalName && o.Spec.ClusterIP == "" {
			o.Spec.ClusterIP, o.Spec.ClusterIPs = before.Spec.ClusterIP, before.Spec.ClusterIPs
		}
		if ok && o.Spec.Type == before.Spec.Type {
			keepNodePorts(o, before)
		} else if ok {
			dropNodePorts(o, before)
		}
		s.allocate(o)
	case *corev1.Namespace:
		if before, ok := old.(*corev1.Namespace); ok && o.Status.Phase == "" {
			o.Status.Phase = before.Status.Phase
		}
	}
}

func keepNodePorts(o, before *corev1.Service) {
	for i := range o.Spec.Ports {
		for _, p := range before.Spec.Ports {
			if o.Spec.Ports[i].NodePort == 0 && p.Port == o.Spec.Ports[i].Port && p.Protocol == o.Spec.Ports[i].Protocol {
				o.Spec.Ports[i].NodePort = p.NodePort
			}
		}
	}
}

func exposed(o *corev1.Service) bool {
	return o.Spec.Type == corev1.ServiceTypeNodePort || o.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// dropNodePorts removes fields that only the Service's former type uses, unless the writer sets them anew. A patch of
// the type does not mention these fields.
func dropNodePorts(o, before *corev1.Service) {
	if exposed(o) || !exposed(before) {
		return
	}
	for i := range o.Spec.Ports {
		for _, p := range before.Spec.Ports {
			if o.Spec.Ports[i].NodePort == p.NodePort {
				o.Spec.Ports[i].NodePort = 0
			}
		}
	}
	if o.Spec.ExternalTrafficPolicy == before.Spec.ExternalTrafficPolicy {
		o.Spec.ExternalTrafficPolicy = ""
	}
	o.Spec.AllocateLoadBalancerNodePorts = nil
}

// allocate gives a Service addresses, as a cluster does. They are unique for up to 60,000 Services, and this server
// never reuses them.
func (s *Server) allocate(o *corev1.Service) {
	spec := &o.Spec
	if spec.Type == corev1.ServiceTypeExternalName {
		spec.ClusterIP, spec.ClusterIPs, spec.IPFamilies, spec.IPFamilyPolicy = "", nil, nil, nil
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if spec.ClusterIP == "" {
		spec.ClusterIP = fmt.Sprintf("10.96.%d.%d", s.nextIP/250%250, 1+s.nextIP%250)
		s.nextIP++
	}
	if len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	setPointer(&spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	if spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer {
		for i := range spec.Ports {
			if spec.Ports[i].NodePort == 0 {
				s.nextPort++
				spec.Ports[i].NodePort = 30000 + int32(s.nextPort%2768)
			}
		}
	}
}
