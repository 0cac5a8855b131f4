package apiserver

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"glasswatch/internal/apiserver/resource"
)

// fixed is a field that cannot change, as it is and as it was.
type fixed struct {
	path    *field.Path
	is, was any
}

// validateFixed refuses changes of what an object is made of for good.
func validateFixed(obj, old resource.Object) field.ErrorList {
	if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
		return validateClaimUpdate(claim, old.(*corev1.PersistentVolumeClaim))
	}
	var errs field.ErrorList
	for _, f := range fixedFields(obj, old) {
		errs = append(errs, validation.ValidateImmutableField(f.is, f.was, f.path)...)
	}
	return errs
}

func fixedFields(obj, old resource.Object) []fixed {
	root, spec := field.NewPath, field.NewPath("spec")
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return []fixed{{spec.Child("selector"), o.Spec.Selector, old.(*appsv1.Deployment).Spec.Selector}}
	case *appsv1.ReplicaSet:
		return []fixed{{spec.Child("selector"), o.Spec.Selector, old.(*appsv1.ReplicaSet).Spec.Selector}}
	case *appsv1.DaemonSet:
		return []fixed{{spec.Child("selector"), o.Spec.Selector, old.(*appsv1.DaemonSet).Spec.Selector}}
	case *appsv1.StatefulSet: // what the identity of the Pods and their storage is made of
		is, was := o.Spec, old.(*appsv1.StatefulSet).Spec
		return []fixed{
			{spec.Child("selector"), is.Selector, was.Selector},
			{spec.Child("volumeClaimTemplates"), is.VolumeClaimTemplates, was.VolumeClaimTemplates},
			{spec.Child("serviceName"), is.ServiceName, was.ServiceName},
			{spec.Child("podManagementPolicy"), is.PodManagementPolicy, was.PodManagementPolicy},
		}
	case *batchv1.Job:
		return fixedOfJob(&o.Spec, old.(*batchv1.Job), spec)
	case *rbacv1.RoleBinding:
		return []fixed{{root("roleRef"), o.RoleRef, old.(*rbacv1.RoleBinding).RoleRef}}
	case *rbacv1.ClusterRoleBinding:
		return []fixed{{root("roleRef"), o.RoleRef, old.(*rbacv1.ClusterRoleBinding).RoleRef}}
	case *storagev1.StorageClass:
		was := old.(*storagev1.StorageClass)
		return []fixed{
			{root("parameters"), o.Parameters, was.Parameters},
			{root("provisioner"), o.Provisioner, was.Provisioner},
			{root("reclaimPolicy"), o.ReclaimPolicy, was.ReclaimPolicy},
			{root("volumeBindingMode"), o.VolumeBindingMode, was.VolumeBindingMode},
		}
	case *networkingv1.IngressClass:
		return []fixed{{spec.Child("controller"), o.Spec.Controller, old.(*networkingv1.IngressClass).Spec.Controller}}
	case *schedulingv1.PriorityClass:
		return []fixed{{root("preemptionPolicy"), o.PreemptionPolicy, old.(*schedulingv1.PriorityClass).PreemptionPolicy}}
	}
	return nil
}

func fixedOfJob(is *batchv1.JobSpec, old *batchv1.Job, spec *field.Path) []fixed {
	was := &old.Spec
	template := was.Template.DeepCopy()
	if isTrue(was.Suspend) && old.Status.Active == 0 {
		mayChangeWhileSuspended(template, &is.Template)
	}
	fields := []fixed{
		{spec.Child("selector"), is.Selector, was.Selector},
		{spec.Child("template"), &is.Template, template},
		{spec.Child("completionMode"), is.CompletionMode, was.CompletionMode},
		{spec.Child("podFailurePolicy"), is.PodFailurePolicy, was.PodFailurePolicy},
		{spec.Child("backoffLimitPerIndex"), is.BackoffLimitPerIndex, was.BackoffLimitPerIndex},
		{spec.Child("managedBy"), is.ManagedBy, was.ManagedBy},
		{spec.Child("successPolicy"), is.SuccessPolicy, was.SuccessPolicy},
	}
	isElastic := ptr.Deref(is.CompletionMode, "") == batchv1.IndexedCompletion && ptr.Equal(is.Completions, is.Parallelism)
	if !isElastic {
		fields = append([]fixed{{spec.Child("completions"), is.Completions, was.Completions}}, fields...)
	}
	return fields
}

// mayChangeWhileSuspended gives the template of old what says where the Pods run and what with.
func mayChangeWhileSuspended(old, is *corev1.PodTemplateSpec) {
	old.Labels, old.Annotations = is.Labels, is.Annotations
	to, from := &old.Spec, &is.Spec
	to.NodeSelector, to.Tolerations, to.SchedulingGates = from.NodeSelector, from.Tolerations, from.SchedulingGates
	if from.Affinity != nil || to.Affinity != nil {
		setPointer(&to.Affinity, corev1.Affinity{})
		to.Affinity.NodeAffinity = ptr.Deref(from.Affinity, corev1.Affinity{}).NodeAffinity
		if from.Affinity == nil && *to.Affinity == (corev1.Affinity{}) {
			to.Affinity = nil
		}
	}
	for i := range to.Containers {
		if i < len(from.Containers) {
			to.Containers[i].Resources = from.Containers[i].Resources
		}
	}
}

// validateClaimUpdate lets a claim be bound once, and grow when it is.
func validateClaimUpdate(o, old *corev1.PersistentVolumeClaim) field.ErrorList {
	spec := field.NewPath("spec")
	is, was := o.Spec.DeepCopy(), old.Spec.DeepCopy()
	if was.VolumeName == "" {
		was.VolumeName = is.VolumeName
	}
	if was.StorageClassName == nil { // a default class may come later
		was.StorageClassName = is.StorageClassName
	}
	if o.Status.Phase == corev1.ClaimBound {
		is.Resources.Requests, is.VolumeAttributesClassName = was.Resources.Requests, was.VolumeAttributesClassName
	}
	var errs field.ErrorList
	if !equality.Semantic.DeepEqual(is, was) {
		errs = append(errs, field.Forbidden(spec,
			"spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"+diff.Diff(was, is)))
	}
	size, oldSize := o.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	if capacity := old.Status.Capacity[corev1.ResourceStorage]; size.Cmp(oldSize) < 0 && size.Cmp(capacity) <= 0 {
		errs = append(errs, field.Forbidden(spec.Child("resources", "requests", "storage"), "field can not be less than status.capacity"))
	}
	return errs
}
