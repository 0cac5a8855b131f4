package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// syncClaims creates the claims of each replica, hands them to their owner, and deletes those of replicas that are gone
// if the retention policy says so.
func (w *Workloads) syncClaims(ctx context.Context, s *appsv1.StatefulSet) error {
	if s.DeletionTimestamp != nil {
		return nil
	}
	client := w.client.CoreV1().PersistentVolumeClaims(s.Namespace)
	var errs []error
	for _, template := range s.Spec.VolumeClaimTemplates {
		prefix := template.Name + "-" + s.Name + "-"
		for n := range ptr.Deref(s.Spec.Replicas, 1) {
			errs = append(errs, w.syncClaim(ctx, s, claimOf(s, template, n)))
		}
		if policyOf(s).WhenScaled != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
			continue
		}
		for _, claim := range w.claims.informer.Store().List() {
			ordinal, found := strings.CutPrefix(claim.Name, prefix)
			n, err := strconv.ParseInt(ordinal, 10, 32)
			if claim.Namespace == s.Namespace && found && err == nil && int32(n) >= ptr.Deref(s.Spec.Replicas, 1) {
				errs = append(errs, ignoreNotFound(client.Delete(ctx, claim.Name, metav1.DeleteOptions{})))
			}
		}
	}
	return errors.Join(errs...)
}

func (w *Workloads) syncClaim(ctx context.Context, s *appsv1.StatefulSet, want *corev1.PersistentVolumeClaim) error {
	client := w.client.CoreV1().PersistentVolumeClaims(s.Namespace)
	claim, err := client.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, want, metav1.CreateOptions{FieldManager: fieldManager})
		return err
	}
	if err != nil {
		return err
	}
	// Another owner's stay: somebody may have made the claim theirs.
	owners := slices.DeleteFunc(slices.Clone(claim.OwnerReferences), func(ref metav1.OwnerReference) bool {
		return ref.Kind == "StatefulSet" && ref.Name == s.Name
	})
	if metav1.GetControllerOf(claim) == nil || len(owners) < len(claim.OwnerReferences) {
		owners = append(owners, want.OwnerReferences...)
	}
	if apiequality.Semantic.DeepEqual(owners, claim.OwnerReferences) {
		return nil
	}
	claim.OwnerReferences = owners
	_, err = client.Update(ctx, claim, metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}

// claimOf is the claim of the n-th replica. It belongs to the StatefulSet, and goes with it, only if the policy says
// so.
func claimOf(s *appsv1.StatefulSet, template corev1.PersistentVolumeClaim, n int32) *corev1.PersistentVolumeClaim {
	claim := template.DeepCopy()
	claim.Namespace, claim.Name = s.Namespace, fmt.Sprintf("%s-%s-%d", template.Name, s.Name, n)
	claim.Status = corev1.PersistentVolumeClaimStatus{}
	if claim.Labels == nil {
		claim.Labels = map[string]string{}
	}
	maps.Copy(claim.Labels, s.Spec.Selector.MatchLabels)
	if policyOf(s).WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		claim.OwnerReferences = append(claim.OwnerReferences,
			*metav1.NewControllerRef(s, appsv1.SchemeGroupVersion.WithKind("StatefulSet")))
	}
	return claim
}

func policyOf(s *appsv1.StatefulSet) appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	return ptr.Deref(s.Spec.PersistentVolumeClaimRetentionPolicy,
		appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
}

const protection = "kubernetes.io/pvc-protection"

// unprotect lets a claim go that is to be deleted.
func (w *Workloads) unprotect(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if claim.DeletionTimestamp == nil || !slices.Contains(claim.Finalizers, protection) {
		return nil
	}
	claim = claim.DeepCopy()
	claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == protection })
	_, err := w.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, claim,
		metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
