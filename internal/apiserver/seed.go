package apiserver

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
