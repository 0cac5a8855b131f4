package apiserver

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SeedNamespaces stores active namespaces as those that every cluster starts with, without a request and without
// managedFields: a demo that needs tens of thousands should not wait for as many requests. Watches see them. Of a name
// that is taken, the error says so; what came before it is stored. Names are not checked.
func (s *Server) SeedNamespaces(names ...string) error {
	for _, name := range names {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := s.install(namespacesResource, ns, "v1", "Namespace"); err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	return nil
}
