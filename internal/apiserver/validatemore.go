package apiserver

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateConfigMap(o, old *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	if old != nil && isTrue(old.Immutable) {
		errs = append(errs, unchangedFields(map[string]bool{
			"immutable": isTrue(o.Immutable), "data": maps.Equal(o.Data, old.Data), "binaryData": maps.EqualFunc(o.BinaryData, old.BinaryData, bytes.Equal),
		})...)
	}
	size := 0
	for key, value := range o.Data {
		errs = append(errs, invalid(field.NewPath("data").Key(key), key, utilvalidation.IsConfigMapKey(key))...)
		size += len(value)
	}
	for _, value := range o.BinaryData {
		size += len(value)
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return errs
}

func validateSecret(o, old *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for _, value := range o.Data {
		size += len(value)
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(field.NewPath("data"), "", corev1.MaxSecretSize))
	}
	if old == nil {
		return errs
	}
	errs = append(errs, validation.ValidateImmutableField(o.Type, old.Type, field.NewPath("type"))...)
	if isTrue(old.Immutable) {
		errs = append(errs, unchangedFields(map[string]bool{"immutable": isTrue(o.Immutable), "data": maps.EqualFunc(o.Data, old.Data, bytes.Equal)})...)
	}
	return errs
}

func isTrue(b *bool) bool { return b != nil && *b }

// unchangedFields is about the fields of an object that was made immutable.
func unchangedFields(same map[string]bool) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []string{"immutable", "data", "binaryData"} {
		if unchanged, ok := same[name]; ok && !unchanged {
			errs = append(errs, field.Forbidden(field.NewPath(name), "field is immutable when `immutable` is set"))
		}
	}
	return errs
}

// validateFinalizers is what built-in kinds ask for beyond the common rule.
func validateFinalizers(names []string, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	standard := []string{string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	for i, name := range names {
		if !strings.Contains(name, "/") && !slices.Contains(standard, name) {
			errs = append(errs, field.Invalid(p.Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}
