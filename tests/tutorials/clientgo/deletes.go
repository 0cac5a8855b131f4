package clientgo

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/tests/tutorials/play"
)

// Deletes deletes: twice, by UID, and an owner under each propagation policy. The garbage collector deletes children, a moment later.
//
// Ways: the layers read; all writes are client-go's.
func Deletes(p *play.Play) {
	maps := p.Client().CoreV1().ConfigMaps("default")
	create := func(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
		meta := metav1.ObjectMeta{Name: name, OwnerReferences: owners}
		return play.Must(maps.Create(p.Context(), &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{}))
	}
	state := func() string {
		var states []string
		for _, obj := range play.Must(maps.List(p.Context(), metav1.ListOptions{})).Items {
			state := obj.Name
			if obj.DeletionTimestamp != nil {
				state += " (going: " + strings.Join(obj.Finalizers, " ") + ")"
			}
			if len(obj.OwnerReferences) > 0 {
				state += " (owned)"
			}
			states = append(states, state)
		}
		return "[" + strings.Join(states, ", ") + "]"
	}

	first := create("a")
	p.Print("delete: %v", maps.Delete(p.Context(), "a", metav1.DeleteOptions{}))
	p.Print("delete again: %v", maps.Delete(p.Context(), "a", metav1.DeleteOptions{}))
	create("a")
	err := maps.Delete(p.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &first.UID}})
	p.Print("delete the one from before, by its UID, while another has its name: %s", apierrors.ReasonForError(err))
	play.Check(maps.Delete(p.Context(), "a", metav1.DeleteOptions{}))

	for _, policy := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		owner := create("owner")
		block := true
		create("child", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &block})
		play.Check(maps.Delete(p.Context(), owner.Name, metav1.DeleteOptions{PropagationPolicy: &policy}))
		p.Print("%-10s  at once %s", policy, state())
		p.Pass(time.Second)
		p.Print("%-10s  then    %s", policy, state())
	}
}
