// Package manifests reads deploy/ as `kubectl apply -k` would. The tests check it, apply it and run with its flags. It
// supports only the part of kustomize that deploy/ uses, and refuses the rest.
package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
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

// kustomization has the fields that deploy/ uses.
type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Resources  []string `json:"resources"`
	Patches    []struct {
		Path   string `json:"path"`
		Target struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"target"`
	} `json:"patches"`
}

// Load gives the objects of one way to install, in the order of the files.
func Load(deploy, way string) ([]*unstructured.Unstructured, error) {
	return load(filepath.Join(deploy, way))
}

func load(dir string) ([]*unstructured.Unstructured, error) {
	var k kustomization
	raw, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	if err := sigsyaml.UnmarshalStrict(raw, &k); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var objects []*unstructured.Unstructured
	for _, resource := range k.Resources {
		path := filepath.Join(dir, resource)
		read := readObjects
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			read = load
		}
		some, err := read(path)
		if err != nil {
			return nil, err
		}
		objects = append(objects, some...)
	}
	for _, p := range k.Patches {
		if err := patch(objects, filepath.Join(dir, p.Path), p.Target.Kind, p.Target.Name); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

func readObjects(path string) ([]*unstructured.Unstructured, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := documents.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		objects = append(objects, object)
	}
}

// patch applies a JSON patch to the one object of this kind and name.
func patch(objects []*unstructured.Unstructured, path, kind, name string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	inJSON, err := sigsyaml.YAMLToJSON(raw)
	if err != nil {
		return err
	}
	operations, err := jsonpatch.DecodePatch(inJSON)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() != kind || object.GetName() != name {
			continue
		}
		before, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		after, err := operations.Apply(before)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return json.Unmarshal(after, object)
	}
	return fmt.Errorf("%s: there is no %s %s to patch", path, kind, name)
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
