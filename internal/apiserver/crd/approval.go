package crd

import (
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateApproval: a definition in a group of Kubernetes' own must say who approved it, or that nobody did. A state
// that was stored may stay.
func validateApproval(def, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	if !apihelpers.IsProtectedCommunityGroup(def.Spec.Group) {
		return nil
	}
	state, reason := apihelpers.GetAPIApprovalState(def.Annotations)
	if old != nil {
		if before, _ := apihelpers.GetAPIApprovalState(old.Annotations); before == state {
			return nil
		}
	}
	path := field.NewPath("metadata", "annotations").Key(apiextensionsv1.KubeAPIApprovedAnnotation)
	switch state {
	case apihelpers.APIApprovalMissing:
		return field.ErrorList{field.Required(path, reason)}
	case apihelpers.APIApprovalInvalid:
		return field.ErrorList{field.Invalid(path, def.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation], reason)}
	default:
		return nil
	}
}

// judgeApproval sets the condition that tells of the annotation. It reports whether the status changed.
func judgeApproval(def *apiextensionsv1.CustomResourceDefinition) bool {
	if !apihelpers.IsProtectedCommunityGroup(def.Spec.Group) {
		return false
	}
	set := func(status apiextensionsv1.ConditionStatus, reason, message string) bool {
		return setCondition(def, apiextensionsv1.KubernetesAPIApprovalPolicyConformant, status, reason, message)
	}
	switch state, message := apihelpers.GetAPIApprovalState(def.Annotations); state {
	case apihelpers.APIApproved:
		return set(apiextensionsv1.ConditionTrue, "ApprovedAnnotation", message)
	case apihelpers.APIApprovalBypassed:
		return set(apiextensionsv1.ConditionFalse, "UnapprovedAnnotation", message)
	case apihelpers.APIApprovalMissing:
		return set(apiextensionsv1.ConditionFalse, "MissingAnnotation", message)
	default:
		return set(apiextensionsv1.ConditionFalse, "InvalidAnnotation", message)
	}
}
