package apiserver

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// qosOf is the quality of service of a Pod: Guaranteed if each container has limits and as much requested, BestEffort if
// none asks for anything. Pod-wide resources count alone.
func qosOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	if all := spec.Resources; all != nil && len(all.Requests)+len(all.Limits) > 0 {
		return qosOfResources(all)
	}
	var found []corev1.PodQOSClass
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		found = append(found, qosOfResources(&c.Resources))
	}
	return commonQOS(found)
}

func qosOfResources(r *corev1.ResourceRequirements) corev1.PodQOSClass {
	var found []corev1.PodQOSClass
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, limit := r.Requests[name], r.Limits[name]
		switch {
		case !request.Equal(limit):
			return corev1.PodQOSBurstable
		case request.IsZero():
			found = append(found, corev1.PodQOSBestEffort)
		default:
			found = append(found, corev1.PodQOSGuaranteed)
		}
	}
	return commonQOS(found)
}

// commonQOS is the class that all have, or Burstable.
func commonQOS(found []corev1.PodQOSClass) corev1.PodQOSClass {
	classes := slices.Compact(found)
	switch len(classes) {
	case 0:
		return corev1.PodQOSBestEffort
	case 1:
		return classes[0]
	}
	return corev1.PodQOSBurstable
}
