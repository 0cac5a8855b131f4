package apiserver

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"glasswatch/internal/apiserver/resource"
)

// validateWorkload is about Deployments and StatefulSets; old is nil for a creation.
func validateWorkload(obj, old resource.Object, subresource string) field.ErrorList {
	spec := field.NewPath("spec")
	switch o := obj.(type) {
	case *appsv1.Deployment:
		if subresource == "status" {
			s := o.Status
			return validateReplicas(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, "readyReplicas",
				count{"updatedReplicas", s.UpdatedReplicas})
		}
		errs := validateSelector("deployment", o.Spec.Selector, &o.Spec.Template, spec)
		if before, ok := old.(*appsv1.Deployment); ok {
			errs = append(errs, immutable(o.Spec.Selector, before.Spec.Selector, spec.Child("selector"))...)
		}
		return errs
	case *appsv1.StatefulSet:
		if subresource == "status" {
			s := o.Status
			return validateReplicas(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, "status.readyReplicas",
				count{"currentReplicas", s.CurrentReplicas}, count{"updatedReplicas", s.UpdatedReplicas})
		}
		before, _ := old.(*appsv1.StatefulSet)
		return validateStatefulSet(&o.Spec, before, spec)
	}
	return nil
}

var immutable = validation.ValidateImmutableField

// validateStatefulSet refuses changes of what the identity of the Pods and their storage is made of.
func validateStatefulSet(s *appsv1.StatefulSetSpec, old *appsv1.StatefulSet, p *field.Path) field.ErrorList {
	errs := validateSelector("statefulset", s.Selector, &s.Template, p)
	switch s.PodManagementPolicy {
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		errs = append(errs, field.Invalid(p.Child("podManagementPolicy"), s.PodManagementPolicy,
			"must be 'OrderedReady' or 'Parallel'"))
	}
	if old == nil {
		if s.ServiceName != "" {
			errs = append(errs, invalid(p.Child("serviceName"), s.ServiceName,
				validation.NameIsDNSLabel(s.ServiceName, false))...)
		}
		return errs
	}
	was := &old.Spec
	errs = append(errs, immutable(s.Selector, was.Selector, p.Child("selector"))...)
	errs = append(errs, immutable(s.VolumeClaimTemplates, was.VolumeClaimTemplates, p.Child("volumeClaimTemplates"))...)
	errs = append(errs, immutable(s.ServiceName, was.ServiceName, p.Child("serviceName"))...)
	return append(errs, immutable(s.PodManagementPolicy, was.PodManagementPolicy, p.Child("podManagementPolicy"))...)
}

// count is a number of replicas in a status.
type count struct {
	name  string
	value int32
}

// validateReplicas checks that no part of the replicas is more than the whole.
func validateReplicas(replicas, ready, available int32, readyName string, others ...count) field.ErrorList {
	var errs field.ErrorList
	status := field.NewPath("status")
	for _, c := range append([]count{{"readyReplicas", ready}, {"availableReplicas", available}}, others...) {
		if c.value > replicas {
			errs = append(errs, field.Invalid(status.Child(c.name), c.value, "cannot be greater than status.replicas"))
		}
	}
	if available > ready {
		errs = append(errs, field.Invalid(status.Child("availableReplicas"), available,
			"cannot be greater than "+readyName))
	}
	return errs
}

// validateSelector checks that a selector matches the Pods of the template.
func validateSelector(kind string, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec,
	p *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case selector == nil:
		errs = append(errs, field.Required(p.Child("selector"), ""))
	case len(selector.MatchLabels)+len(selector.MatchExpressions) == 0:
		errs = append(errs, field.Invalid(p.Child("selector"), selector, "empty selector is invalid for "+kind))
	}
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return append(errs, field.Invalid(p.Child("selector"), selector, "invalid label selector"))
	}
	if !matcher.Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(p.Child("template", "metadata", "labels"), template.Labels,
			"`selector` does not match template `labels`"))
	}
	return errs
}
