package apiserver

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/storage"
)

// mayDelete refuses to delete objects that a cluster needs.
func (r *request) mayDelete(obj resource.Object) error {
	if r.table != namespacesResource {
		return nil
	}
	switch obj.GetName() {
	case metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic:
		return apierrors.NewForbidden(r.groupResource(), obj.GetName(), fmt.Errorf("this namespace may not be deleted"))
	}
	return nil
}

// mayVanish tells whether an object without finalizers that is being deleted can be removed. A namespace waits until it
// is empty.
func (s *Server) mayVanish(obj resource.Object) bool {
	if ns, ok := obj.(*corev1.Namespace); ok {
		return len(ns.Spec.Finalizers) == 0
	}
	return true
}

// keepFinalizers restores the finalizers in a namespace's spec. Only the finalize subresource changes them. Otherwise
// any writer could remove a namespace before its content.
func keepFinalizers(obj, live resource.Object) {
	ns, ok := obj.(*corev1.Namespace)
	if before, known := live.(*corev1.Namespace); ok && known {
		ns.Spec.Finalizers = before.Spec.Finalizers
	}
}

// terminateNamespace tells whether obj is a namespace.
func terminateNamespace(obj resource.Object) bool {
	ns, ok := obj.(*corev1.Namespace)
	if ok {
		ns.Status.Phase = corev1.NamespaceTerminating
	}
	return ok
}

// emptyNamespaces deletes the content of terminating namespaces, and then the namespaces.
func (s *Server) emptyNamespaces() {
	tree, _, err := s.store.Snapshot(namespacesResource, 0)
	if err != nil {
		return
	}
	ep := s.registry.find(corev1.SchemeGroupVersion.WithResource("namespaces"))
	for _, obj := range tree.Range("", "") {
		if obj.GetDeletionTimestamp() == nil {
			continue
		}
		s.namespaces.Lock() // no creation is between its check and its write
		ns, ok := s.store.Get(namespacesResource, obj.GetName()).(*corev1.Namespace)
		if ok && ns.DeletionTimestamp != nil && len(ns.Spec.Finalizers) > 0 && s.emptied(ns.Name) {
			s.change(ep, ns, func(o resource.Object) { o.(*corev1.Namespace).Spec.Finalizers = nil })
		}
		s.namespaces.Unlock()
	}
}

// emptied deletes the contents of a namespace and tells whether there were none.
func (s *Server) emptied(namespace string) bool {
	empty := true
	background := metav1.DeletePropagationBackground
	for _, ep := range s.registry.tables() {
		if !ep.Namespaced {
			continue
		}
		tree, _, err := s.store.Snapshot(ep.table, 0)
		if err != nil {
			continue
		}
		for _, obj := range tree.Range(namespace+"/", namespace+"0") {
			empty = false
			if obj.GetDeletionTimestamp() != nil {
				continue
			}
			_, _, err := s.deleteObject(ep, obj, &metav1.DeleteOptions{PropagationPolicy: &background})
			if errors.Is(err, storage.ErrConflict) {
				s.sweepSoon()
			}
		}
	}
	return empty
}
