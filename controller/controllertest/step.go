package controllertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Step is something that happens in the cluster, by other hands than the program's.
type Step struct {
	name   string
	settle bool
	lasts  time.Duration // of itself
	do     func(ctx context.Context, c *cluster) error
}

// Settle waits until nobody has written for a while and no fault is going on. Then the state is compared with that of the
// play without faults. Without it the next step comes at once, in the middle of a fault perhaps.
func Settle() Step { return Step{name: "settle", settle: true} }

// Wait lets virtual time pass, whatever goes on: for what users do while a fault lasts.
func Wait(d time.Duration) Step {
	return Step{name: "wait " + d.String(), lasts: d, do: func(context.Context, *cluster) error { time.Sleep(d); return nil }}
}

// Do is a step of one's own. cfg is for a client that suffers no faults. What is wrong is to be returned: require with the test's t ends
// only the goroutine that plays. After an hour of virtual time ctx ends, and the step has failed.
func Do(name string, do func(ctx context.Context, cfg *rest.Config) error) Step {
	return Step{name: name, do: func(ctx context.Context, c *cluster) error { return do(ctx, c.cfg) }}
}

// Apply applies the objects of a file in YAML or JSON. Objects without a namespace come into "default".
func Apply(file string) Step {
	return Step{name: "apply " + file, do: func(ctx context.Context, c *cluster) error {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return c.apply(ctx, string(text))
	}}
}

// ApplyText is Apply of a text instead of a file.
func ApplyText(text string) Step {
	return Step{name: "apply " + strings.Join(strings.Fields(text), " "), do: func(ctx context.Context, c *cluster) error { return c.apply(ctx, text) }}
}

// Patch sends a JSON merge patch. target is kind/name in namespace "default", or kind/namespace/name, such as "shop/web"; the kind may also
// be the resource's name, singular or plural.
func Patch(target, patch string) Step {
	return Step{name: "patch " + target + " " + patch, do: func(ctx context.Context, c *cluster) error {
		client, name, err := c.find(target)
		if err != nil {
			return err
		}
		_, err = client.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "user"})
		return err
	}}
}

// Delete deletes an object in the background. target is as with Patch.
func Delete(target string) Step {
	return Step{name: "delete " + target, do: func(ctx context.Context, c *cluster) error {
		client, name, err := c.find(target)
		if err != nil {
			return err
		}
		background := metav1.DeletePropagationBackground
		return client.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	}}
}

// cluster is what steps work with.
type cluster struct {
	cfg    *rest.Config
	client dynamic.Interface
	mapper meta.RESTMapper
	first  map[string]bool // UIDs of objects that were there before all else: the server's own
}

func newCluster(cfg *rest.Config) (*cluster, error) {
	client, err := dynamic.NewForConfig(cfg)
	return &cluster{cfg: cfg, client: client}, err
}

// discover asks the server which kinds there are.
func (c *cluster) discover() error {
	client, err := discovery.NewDiscoveryClientForConfig(c.cfg)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return err
	}
	c.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	return nil
}

// mapped calls ask with what is known of the kinds, and once more with fresh knowledge if that does not know the kind.
func mapped[T any](c *cluster, ask func(meta.RESTMapper) (T, error)) (T, error) {
	if c.mapper != nil {
		if found, err := ask(c.mapper); !meta.IsNoMatchError(err) {
			return found, err
		}
	}
	if err := c.discover(); err != nil {
		var none T
		return none, err
	}
	return ask(c.mapper)
}

func (c *cluster) apply(ctx context.Context, text string) error {
	objects, err := decode(text)
	if err != nil {
		return err
	}
	for n, obj := range objects {
		if err := c.applyObject(ctx, obj); err != nil {
			return fmt.Errorf("object %d, %s %s: %w", n+1, obj.GetKind(), obj.GetName(), err)
		}
	}
	return nil
}

// decode reads the objects of a text in YAML or JSON.
func decode(text string) (objects []*unstructured.Unstructured, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var obj unstructured.Unstructured
		err := decoder.Decode(&obj)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", len(objects)+1, err)
		}
		if len(obj.Object) > 0 { // no empty document
			objects = append(objects, &obj)
		}
	}
}

// define creates a definition. That takes the server less time than to apply it.
func (c *cluster) define(ctx context.Context, definition *unstructured.Unstructured) error {
	client, err := c.clientOf(definition)
	if err != nil {
		return err
	}
	_, err = client.Create(ctx, definition, metav1.CreateOptions{FieldManager: "user"})
	if apierrors.IsAlreadyExists(err) {
		return c.applyObject(ctx, definition)
	}
	return err
}

func (c *cluster) applyObject(ctx context.Context, obj *unstructured.Unstructured) error {
	client, err := c.clientOf(obj)
	if err != nil {
		return err
	}
	_, err = client.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: "user", Force: true})
	return err
}

// clientOf is for an object's resource and namespace.
func (c *cluster) clientOf(obj *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := obj.GroupVersionKind()
	mapping, err := mapped(c, func(m meta.RESTMapper) (*meta.RESTMapping, error) {
		return m.RESTMapping(kind.GroupKind(), kind.Version)
	})
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return c.client.Resource(mapping.Resource), nil
	}
	namespace := obj.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return c.client.Resource(mapping.Resource).Namespace(namespace), nil
}

// find returns a client for the target's resource and namespace, and the target's name.
func (c *cluster) find(target string) (dynamic.ResourceInterface, string, error) {
	parts := strings.Split(target, "/")
	if len(parts) == 2 {
		parts = []string{parts[0], metav1.NamespaceDefault, parts[1]}
	}
	if len(parts) != 3 || slices.Contains(parts, "") {
		return nil, "", fmt.Errorf("want kind/name or kind/namespace/name, got %q", target)
	}
	gvr, err := mapped(c, func(m meta.RESTMapper) (schema.GroupVersionResource, error) {
		return m.ResourceFor(schema.GroupVersionResource{Resource: strings.ToLower(parts[0])})
	})
	if err != nil {
		return nil, "", err
	}
	kind, err := c.mapper.KindFor(gvr)
	if err != nil {
		return nil, "", err
	}
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, "", err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.client.Resource(gvr).Namespace(parts[1]), parts[2], nil
	}
	return c.client.Resource(gvr), parts[2], nil
}

// definitionsOf reads the custom resource definitions of files and folders.
func definitionsOf(paths []string) (definitions []*unstructured.Unstructured, err error) {
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			objects, err := decode(string(text))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			definitions = append(definitions, objects...)
		}
	}
	return definitions, nil
}

// filesOf are a file itself, or those of a folder in YAML or JSON.
func filesOf(path string) (files []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
		found, err := filepath.Glob(filepath.Join(path, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no *.yaml, *.yml or *.json", path)
	}
	return files, nil
}
