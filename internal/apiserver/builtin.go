package apiserver

import (
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
	jobsResource       = schema.GroupResource{Group: "batch", Resource: "jobs"}

	replicationControllersResource = schema.GroupResource{Resource: "replicationcontrollers"}
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
	if gr == servicesResource {
		s.addresses.mu.Lock()
		defer s.addresses.mu.Unlock()
	}
	if err := s.prepareForCreate(obj); err != nil {
		return err
	}
	if err := s.store.Create(gr, keyOf(obj.GetNamespace(), obj.GetName()), obj); err != nil {
		return err
	}
	s.addresses.note(obj)
	return nil
}

// prepareForCreate does what a real server's strategy for the kind does before validation. For a Service call it with
// s.addresses.mu held.
func (s *Server) prepareForCreate(obj resource.Object) error {
	switch o := obj.(type) {
	case *corev1.Namespace:
		defaultNamespace(o)
		o.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
		o.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosOf(&o.Spec)}
	case *corev1.Service:
		return s.allocate(o, "")
	case *corev1.PersistentVolumeClaim:
		o.Status.Phase = corev1.ClaimPending
	case *batchv1.Job:
		if !ptr.Deref(o.Spec.ManualSelector, false) {
			selectByUID(o)
		}
		defaultJobLabels(o) // as a real server does whenever it reads one from etcd
		o.Labels = maps.Clone(o.Labels)
	}
	return nil
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

// prepareForUpdate is the same for an update.
func (s *Server) prepareForUpdate(obj, old resource.Object) error {
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
		return s.allocate(o, keyOf(old.GetNamespace(), old.GetName()))
	case *corev1.Namespace:
		if before, ok := old.(*corev1.Namespace); ok && o.Status.Phase == "" {
			o.Status.Phase = before.Status.Phase
		}
	}
	return nil
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
