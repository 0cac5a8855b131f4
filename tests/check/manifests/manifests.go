// Package manifests reads deploy/ with kustomize. Its tests check what is there; tests/check/e2e applies it and runs with its flags.
package manifests

import (
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The ways to install it, each a folder.
const (
	Cluster    = "cluster"
	Namespaced = "namespaced"
	Sharded    = "sharded"
	// InformerAPI, FooController and CloudManager install these programs of cmd; the others install the ingress controller.
	InformerAPI   = "informer-api"
	FooController = "foo-controller"
	CloudManager  = "cloudmanager"
)

// Namespace is the one that the files name.
const Namespace = "glasswatch"

// Load gives the objects of one way to install, as `kubectl kustomize` does.
func Load(deploy, way string) ([]*unstructured.Unstructured, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(deploy, way))
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, resource := range resources.Resources() {
		raw, err := resource.MarshalJSON() // not Map, whose numbers are of types that unstructured objects may not have
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// MoveTo puts the objects into another namespace, as kustomize's namespace field does. The objects of the cluster keep
// their names.
func MoveTo(objects []*unstructured.Unstructured, namespace string) {
	for _, object := range objects {
		if object.GetNamespace() == Namespace {
			object.SetNamespace(namespace)
		}
		if object.GetKind() == "Namespace" {
			object.SetName(namespace)
		}
		subjects, found, _ := unstructured.NestedSlice(object.Object, "subjects")
		if !found {
			continue
		}
		for _, subject := range subjects {
			if fields, ok := subject.(map[string]any); ok && fields["namespace"] == Namespace {
				fields["namespace"] = namespace
			}
		}
		object.Object["subjects"] = subjects
	}
}
