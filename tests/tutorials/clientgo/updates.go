package clientgo

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/tests/tutorials/play"
)

// Updates writes one object by two people. An Update that carries the resourceVersion it was made from fails if somebody was faster.
// An Update without one overwrites: the last writer wins, and the other's change is gone without an error.
//
// Often said: "build the object from your manifest and call Update". That is the second case. Get, change and Update what came, or apply.
//
// Ways: the layers read; all writes are client-go's.
func Updates(p *play.Play) {
	maps := p.Client().CoreV1().ConfigMaps("default")
	paint := func(meta metav1.ObjectMeta, data map[string]string) *corev1.ConfigMap {
		meta.Name = "paint"
		return &corev1.ConfigMap{ObjectMeta: meta, Data: data}
	}
	created := play.Must(maps.Create(p.Context(), paint(metav1.ObjectMeta{}, map[string]string{"door": "red"}), metav1.CreateOptions{}))
	p.Print("created: %v", created.Data)

	byBob := paint(created.ObjectMeta, map[string]string{"door": "red", "roof": "grey"})
	byBob = play.Must(maps.Update(p.Context(), byBob, metav1.UpdateOptions{}))
	p.Print("bob updates from the version he read: %v", byBob.Data)

	_, err := maps.Update(p.Context(), paint(created.ObjectMeta, map[string]string{"door": "blue"}), metav1.UpdateOptions{})
	p.Print("alice updates from the version before: %s", apierrors.ReasonForError(err))

	byAlice := play.Must(maps.Update(p.Context(), paint(metav1.ObjectMeta{}, map[string]string{"door": "blue"}), metav1.UpdateOptions{}))
	p.Print("alice updates without a version: %v; the same object: %t; bob's roof is lost", byAlice.Data, byAlice.UID == created.UID)

	leases := p.Client().CoordinationV1().Leases("default")
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "leader"}}
	play.Must(leases.Create(p.Context(), lease, metav1.CreateOptions{}))
	_, err = leases.Update(p.Context(), lease, metav1.UpdateOptions{})
	p.Print("some kinds refuse it, a Lease for one: %v", err)

	_, err = maps.Update(p.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "fence"}}, metav1.UpdateOptions{})
	p.Print("of what is not there: %v", err)
}
