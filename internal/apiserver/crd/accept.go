package crd

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Established says whether the definition's resource is served. Once it is, it stays so.
func Established(def *apiextensionsv1.CustomResourceDefinition) bool {
	c := condition(def, apiextensionsv1.Established)
	return c != nil && c.Status == apiextensionsv1.ConditionTrue
}

// Accept updates a definition's status in place: its accepted names, whether it is established and approved, and the versions
// in which objects may be stored. others are the other definitions. Names that were granted to one of the same group are
// taken. It reports whether the status changed.
func Accept(def *apiextensionsv1.CustomResourceDefinition, others []*apiextensionsv1.CustomResourceDefinition) bool {
	changed := grantNames(def, others)
	if accepted := condition(def, apiextensionsv1.NamesAccepted); accepted.Status == apiextensionsv1.ConditionTrue {
		changed = setCondition(def, apiextensionsv1.Established, apiextensionsv1.ConditionTrue, "InitialNamesAccepted", "the initial names have been accepted") || changed
	} else if !Established(def) {
		changed = setCondition(def, apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "NotAccepted", "not all names are accepted") || changed
	}
	for _, v := range def.Spec.Versions {
		if v.Storage && !slices.Contains(def.Status.StoredVersions, v.Name) {
			def.Status.StoredVersions = append(slices.Clone(def.Status.StoredVersions), v.Name)
			changed = true
		}
	}
	return judgeApproval(def) || changed
}

// grantNames accepts the wanted names that are free, and lists the others in a condition.
func grantNames(def *apiextensionsv1.CustomResourceDefinition, others []*apiextensionsv1.CustomResourceDefinition) bool {
	resources, kinds := map[string]bool{}, map[string]bool{}
	for _, o := range others {
		if o.Spec.Group != def.Spec.Group || o.Name == def.Name {
			continue
		}
		n := o.Status.AcceptedNames
		for _, name := range append([]string{n.Plural, n.Singular}, n.ShortNames...) {
			resources[name] = true
		}
		kinds[n.Kind], kinds[n.ListKind] = true, true
	}
	want, got := def.Spec.Names, def.Status.AcceptedNames
	before := *got.DeepCopy()
	reason, message := "", ""
	grant := func(wanted string, into *string, taken map[string]bool, conflict string) {
		if wanted != *into && taken[wanted] {
			reason, message = conflict, fmt.Sprintf("%q is already in use", wanted)
			return
		}
		*into = wanted
	}
	grant(want.Plural, &got.Plural, resources, "PluralConflict")
	grant(want.Singular, &got.Singular, resources, "SingularConflict")
	free := true
	for _, name := range want.ShortNames {
		if resources[name] && !slices.Contains(got.ShortNames, name) {
			free, reason, message = false, "ShortNamesConflict", fmt.Sprintf("%q is already in use", name)
		}
	}
	if free {
		got.ShortNames = slices.Clone(want.ShortNames)
	}
	grant(want.Kind, &got.Kind, kinds, "KindConflict")
	grant(want.ListKind, &got.ListKind, kinds, "ListKindConflict")
	got.Categories = slices.Clone(want.Categories)
	def.Status.AcceptedNames = got

	changed := !sameNames(before, got)
	if reason != "" {
		return setCondition(def, apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, reason, message) || changed
	}
	return setCondition(def, apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionTrue, "NoConflicts", "no conflicts found") || changed
}

func sameNames(a, b apiextensionsv1.CustomResourceDefinitionNames) bool {
	return a.Plural == b.Plural && a.Singular == b.Singular && a.Kind == b.Kind && a.ListKind == b.ListKind &&
		slices.Equal(a.ShortNames, b.ShortNames) && slices.Equal(a.Categories, b.Categories)
}

func condition(def *apiextensionsv1.CustomResourceDefinition, t apiextensionsv1.CustomResourceDefinitionConditionType) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range def.Status.Conditions {
		if def.Status.Conditions[i].Type == t {
			return &def.Status.Conditions[i]
		}
	}
	return nil
}

// setCondition keeps the time of the last transition unless the status changes.
func setCondition(def *apiextensionsv1.CustomResourceDefinition, t apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus, reason, message string) bool {
	c := condition(def, t)
	if c == nil {
		def.Status.Conditions = append(slices.Clone(def.Status.Conditions), apiextensionsv1.CustomResourceDefinitionCondition{Type: t})
		c = &def.Status.Conditions[len(def.Status.Conditions)-1]
	}
	if c.Status == status && c.Reason == reason && c.Message == message {
		return false
	}
	if c.Status != status {
		c.LastTransitionTime = metav1.Now().Rfc3339Copy()
	}
	c.Status, c.Reason, c.Message = status, reason, message
	return true
}
