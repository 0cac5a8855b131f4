package apiserver

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/internal/apiserver/resource"
)

// SeedNamespaces stores active namespaces without a request and without managedFields, like those of a fresh cluster. A
// demo may need tens of thousands, and so many requests would take too long. Watches see them. A name that is taken is
// an error; the names before it are stored. Names are not validated.
func (s *Server) SeedNamespaces(names ...string) error {
	for _, name := range names {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := s.install(namespacesResource, ns, "v1", "Namespace"); err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	return nil
}

// Seed stores an object of a built-in resource without a request, and without managedFields. A benchmark may need a
// million, and thousands of changes a second. Watches see them. If the name is taken, obj replaces what is there, and
// gets its UID and its creationTimestamp. Nothing is validated, not even that the namespace exists. Two calls for one
// name must not run at the same time. obj then belongs to the server, and has its UID and its resourceVersion.
func (s *Server) Seed(gvr schema.GroupVersionResource, obj resource.Object) error {
	ep := s.registry.find(gvr)
	if ep == nil {
		return fmt.Errorf("the server does not serve %s", gvr)
	}
	old := s.store.Get(ep.table, keyOf(obj.GetNamespace(), obj.GetName()))
	if old == nil {
		return s.install(ep.table, obj, ep.APIVersion(), ep.GVK.Kind)
	}
	obj.GetObjectKind().SetGroupVersionKind(ep.GVK)
	obj.SetUID(old.GetUID())
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	applyDefaults(obj)
	return s.store.Update(ep.table, keyOf(obj.GetNamespace(), obj.GetName()), old, obj)
}

// Unseed deletes an object without a request, whatever its finalizers say. Watches see it. It is an error if there is
// none.
func (s *Server) Unseed(gvr schema.GroupVersionResource, namespace, name string) error {
	ep := s.registry.find(gvr)
	if ep == nil {
		return fmt.Errorf("the server does not serve %s", gvr)
	}
	key := keyOf(namespace, name)
	old := s.store.Get(ep.table, key)
	if old == nil {
		return fmt.Errorf("the server has no %s %s", gvr.Resource, key)
	}
	return s.store.Delete(ep.table, key, old, old.DeepCopyObject().(resource.Object))
}
