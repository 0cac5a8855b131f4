package apiserver

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validatePod is about Pods; old is nil for a creation.
func validatePod(o, old *corev1.Pod) field.ErrorList {
	p := field.NewPath("spec")
	errs := validatePodSpec(&o.Spec, nil, p)
	for i, c := range o.Spec.Containers {
		if strings.TrimSpace(c.Image) != c.Image {
			errs = append(errs, field.Invalid(p.Child("containers").Index(i).Child("image"), c.Image, "must not have leading or trailing whitespace"))
		}
	}
	if old != nil {
		errs = append(errs, validatePodUpdate(&o.Spec, &old.Spec, p)...)
	}
	return errs
}

// validatePodSpec is for Pods and their templates. more are the names of volumes that a StatefulSet adds.
func validatePodSpec(spec *corev1.PodSpec, more []string, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	volumes := map[string]bool{}
	for i, v := range spec.Volumes {
		if volumes[v.Name] {
			errs = append(errs, field.Duplicate(p.Child("volumes").Index(i).Child("name"), v.Name))
		}
		volumes[v.Name] = true
	}
	for _, name := range more {
		volumes[name] = true
	}
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(p.Child("containers"), ""))
	}
	names := map[string]bool{}
	errs = append(errs, validateContainers(spec.Containers, names, volumes, p.Child("containers"))...)
	return append(errs, validateContainers(spec.InitContainers, names, volumes, p.Child("initContainers"))...)
}

// validateContainers adds to names.
func validateContainers(containers []corev1.Container, names, volumes map[string]bool, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, c := range containers {
		at := p.Index(i)
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			errs = append(errs, invalid(at.Child("name"), c.Name, utilvalidation.IsDNS1123Label(c.Name))...)
		}
		if c.Image == "" {
			errs = append(errs, field.Required(at.Child("image"), ""))
		}
		for j, mount := range c.VolumeMounts {
			where := at.Child("volumeMounts").Index(j)
			if !volumes[mount.Name] {
				errs = append(errs, field.NotFound(where.Child("name"), mount.Name))
			}
			if mount.MountPath == "" {
				errs = append(errs, field.Required(where.Child("mountPath"), ""))
			}
		}
		if names[c.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		names[c.Name] = true
	}
	return errs
}

const podMayChange = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
	"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"

// validatePodUpdate refuses changes of what a node has read already. Here nodeName may be set once: there are no bindings.
func validatePodUpdate(spec, old *corev1.PodSpec, p *field.Path) field.ErrorList {
	const addOrRemove = "pod updates may not add or remove containers"
	switch {
	case len(spec.Containers) != len(old.Containers):
		return field.ErrorList{field.Forbidden(p.Child("containers"), addOrRemove)}
	case len(spec.InitContainers) != len(old.InitContainers):
		return field.ErrorList{field.Forbidden(p.Child("initContainers"), addOrRemove)}
	}
	var errs field.ErrorList
	errs = append(errs, validateDeadline(spec.ActiveDeadlineSeconds, old.ActiveDeadlineSeconds, p.Child("activeDeadlineSeconds"))...)
	errs = append(errs, keepsTolerations(spec.Tolerations, old.Tolerations, p.Child("tolerations"))...)
	same := spec.DeepCopy()
	for i := range same.Containers {
		same.Containers[i].Image = old.Containers[i].Image
	}
	for i := range same.InitContainers {
		same.InitContainers[i].Image = old.InitContainers[i].Image
	}
	same.ActiveDeadlineSeconds, same.Tolerations = old.ActiveDeadlineSeconds, old.Tolerations
	if len(same.SchedulingGates) < len(old.SchedulingGates) {
		same.SchedulingGates = old.SchedulingGates
	}
	if old.NodeName == "" {
		same.NodeName = ""
	}
	if !equality.Semantic.DeepEqual(same, old) {
		errs = append(errs, field.Forbidden(p, podMayChange+diff.Diff(old, same)))
	}
	return errs
}

func validateDeadline(d, old *int64, p *field.Path) field.ErrorList {
	switch {
	case d == nil && old != nil:
		return field.ErrorList{field.Invalid(p, d, "must not update from a positive integer to nil value")}
	case d != nil && (*d < 0 || *d > math.MaxInt32):
		return field.ErrorList{field.Invalid(p, *d, utilvalidation.InclusiveRangeError(0, math.MaxInt32))}
	case d != nil && old != nil && *d > *old:
		return field.ErrorList{field.Invalid(p, *d, "must be less than or equal to previous value")}
	}
	return nil
}

func keepsTolerations(tolerations, old []corev1.Toleration, p *field.Path) field.ErrorList {
	kept := map[corev1.Toleration]bool{}
	for _, t := range tolerations {
		t.TolerationSeconds = nil
		kept[t] = true
	}
	for _, t := range old {
		t.TolerationSeconds = nil
		if !kept[t] {
			return field.ErrorList{field.Forbidden(p, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}
