package apiserver

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"glasswatch/internal/apiserver/resource"
)

// workload is what the kinds that make Pods have in common.
type workload struct {
	kind     string // in messages
	replicas *int32 // nil if there are none
	selector *metav1.LabelSelector
	template *corev1.PodTemplateSpec
	claims   []corev1.PersistentVolumeClaim
}

// workloadOf returns nil for other kinds.
func workloadOf(obj resource.Object) *workload {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &workload{"deployment", o.Spec.Replicas, o.Spec.Selector, &o.Spec.Template, nil}
	case *appsv1.ReplicaSet: // which says so, too
		return &workload{"deployment", o.Spec.Replicas, o.Spec.Selector, &o.Spec.Template, nil}
	case *appsv1.StatefulSet:
		return &workload{"statefulset", o.Spec.Replicas, o.Spec.Selector, &o.Spec.Template, o.Spec.VolumeClaimTemplates}
	case *appsv1.DaemonSet:
		return &workload{"daemonset", nil, o.Spec.Selector, &o.Spec.Template, nil}
	case *corev1.ReplicationController:
		w := &workload{"", o.Spec.Replicas, nil, o.Spec.Template, nil}
		if len(o.Spec.Selector) > 0 {
			w.selector = &metav1.LabelSelector{MatchLabels: o.Spec.Selector}
		}
		return w
	}
	return nil
}

// validateWorkload is about the kinds that make Pods; old is nil for a creation.
func validateWorkload(obj, old resource.Object, subresource string) field.ErrorList {
	spec := field.NewPath("spec")
	if subresource == "status" {
		return validateCounts(obj)
	}
	switch o := obj.(type) {
	case *batchv1.Job:
		errs := validateJob(&o.Spec, spec)
		return append(errs, validateSelector("", o.Spec.Selector, &o.Spec.Template, spec)...)
	case *batchv1.CronJob:
		return validateJob(&o.Spec.JobTemplate.Spec, spec.Child("jobTemplate", "spec"))
	}
	w := workloadOf(obj)
	if w == nil {
		return nil
	}
	var errs field.ErrorList
	if set, ok := obj.(*appsv1.StatefulSet); ok {
		errs = append(errs, validateStatefulSet(&set.Spec, old == nil, spec)...)
	}
	errs = append(errs, validateCount(w.replicas, spec.Child("replicas"))...)
	if w.template == nil {
		return append(errs, field.Required(spec.Child("template"), ""))
	}
	errs = append(errs, validateSelector(w.kind, w.selector, w.template, spec)...)
	var volumes []string
	for _, claim := range w.claims {
		volumes = append(volumes, claim.Name)
	}
	pod := spec.Child("template", "spec")
	errs = append(errs, validatePodSpec(&w.template.Spec, volumes, pod)...)
	if policy := w.template.Spec.RestartPolicy; policy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(pod.Child("restartPolicy"), policy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	return errs
}

func validateCount(n *int32, p *field.Path) field.ErrorList {
	if n == nil {
		return nil
	}
	return validation.ValidateNonnegativeField(int64(*n), p)
}

// validateJob does not look at the selector, which a CronJob's Job gets later.
func validateJob(s *batchv1.JobSpec, p *field.Path) field.ErrorList {
	errs := validateCount(s.Parallelism, p.Child("parallelism"))
	errs = append(errs, validateCount(s.Completions, p.Child("completions"))...)
	errs = append(errs, validateCount(s.BackoffLimit, p.Child("backoffLimit"))...)
	pod := p.Child("template", "spec")
	errs = append(errs, validatePodSpec(&s.Template.Spec, nil, pod)...)
	switch policy := s.Template.Spec.RestartPolicy; policy {
	case corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever:
	case corev1.RestartPolicyAlways: // the default of Pods
		errs = append(errs, field.Required(pod.Child("restartPolicy"), `valid values: "OnFailure", "Never"`))
	default:
		errs = append(errs, field.NotSupported(pod.Child("restartPolicy"), policy,
			[]corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}))
	}
	return errs
}

// validateCounts is about the status of a workload.
func validateCounts(obj resource.Object) field.ErrorList {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		s := o.Status
		return validateReplicas(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, "readyReplicas", count{"updatedReplicas", s.UpdatedReplicas})
	case *appsv1.StatefulSet:
		s := o.Status
		return validateReplicas(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, "status.readyReplicas",
			count{"currentReplicas", s.CurrentReplicas}, count{"updatedReplicas", s.UpdatedReplicas})
	}
	return nil
}

func validateStatefulSet(s *appsv1.StatefulSetSpec, isNew bool, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch s.PodManagementPolicy {
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		errs = append(errs, field.Invalid(p.Child("podManagementPolicy"), s.PodManagementPolicy,
			"must be 'OrderedReady' or 'Parallel'"))
	}
	if isNew && s.ServiceName != "" {
		errs = append(errs, invalid(p.Child("serviceName"), s.ServiceName, validation.NameIsDNSLabel(s.ServiceName, false))...)
	}
	return errs
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

// validateSelector checks that a selector matches the Pods of the template. With a kind it must not match all Pods.
func validateSelector(kind string, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec,
	p *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case selector == nil:
		errs = append(errs, field.Required(p.Child("selector"), ""))
	case kind != "" && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0:
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
