package upstream

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"

	"glasswatch/compat/cache/install"
)

// metadataOnly has no typed informers, so that the collector takes all of its informers from the metadata factory.
type metadataOnly struct {
	informers.SharedInformerFactory
}

func (metadataOnly) ForResource(gvr schema.GroupVersionResource) (informers.GenericInformer, error) {
	return nil, fmt.Errorf("no typed informer of %s here", gvr)
}

// runCollector starts upstream's garbage collector. Every informer it has is ours.
func (w *world) runCollector() *garbagecollector.GarbageCollector {
	w.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	objects, err := metadata.NewForConfig(w.config)
	if err != nil {
		w.Fatal(err)
	}
	partial := install.NewMetadataFactory(objects, 0, install.Options{})
	w.wantOurs(partial.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps")).Informer())
	typed := metadataOnly{informers.NewSharedInformerFactory(w.client, 0)}
	started := make(chan struct{})
	collector, err := garbagecollector.NewGarbageCollector(ctx, w.client, objects,
		restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(w.client.Discovery())),
		garbagecollector.DefaultIgnoredResources(), informerfactory.NewInformerFactory(typed, partial), started)
	if err != nil {
		w.Fatal(err)
	}
	partial.Start(ctx.Done())
	close(started)
	var running sync.WaitGroup
	running.Go(func() { collector.Run(ctx, 5, time.Minute) })
	running.Go(func() { collector.Sync(ctx, w.client.Discovery(), time.Second) })
	w.Cleanup(func() {
		cancel()
		running.Wait()
		partial.Shutdown()
	})
	return collector
}

func (w *world) configMap(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	w.Helper()
	made, err := w.client.CoreV1().ConfigMaps(w.namespace).Create(w.ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return made
}

func ownedBy(owner *corev1.ConfigMap) metav1.OwnerReference {
	block := true
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &block}
}

func TestGarbageCollector_OnOurInformers(t *testing.T) {
	w := newWorld(t)
	maps := w.client.CoreV1().ConfigMaps(w.namespace)
	remove := func(name string, policy metav1.DeletionPropagation) {
		t.Helper()
		if err := maps.Delete(w.ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			t.Fatal(err)
		}
	}

	// No collector runs yet: otherwise the test would not notice another collector.
	early := w.configMap("early")
	w.configMap("early-dependent", ownedBy(early))
	remove("early", metav1.DeletePropagationBackground)
	w.runCollector()

	t.Run("an owner that was gone before the informers started", func(*testing.T) {
		w.eventually("collection", func() error { return gone(maps.Get(w.ctx, "early-dependent", metav1.GetOptions{})) })
	})
	t.Run("background: a chain of three goes", func(*testing.T) {
		a := w.configMap("a")
		b := w.configMap("b", ownedBy(a))
		w.configMap("c", ownedBy(b))
		remove("a", metav1.DeletePropagationBackground)
		w.eventually("collection", func() error { return gone(maps.Get(w.ctx, "c", metav1.GetOptions{})) })
	})
	t.Run("foreground: the owner goes last", func(t *testing.T) {
		owner := w.configMap("last")
		w.configMap("first", ownedBy(owner))
		remove("last", metav1.DeletePropagationForeground)
		w.eventually("the owner's end", func() error { return gone(maps.Get(w.ctx, "last", metav1.GetOptions{})) })
		if err := gone(maps.Get(w.ctx, "first", metav1.GetOptions{})); err != nil {
			t.Errorf("the owner went before what it owns: %v", err)
		}
	})
	t.Run("orphan: the dependent stays and forgets its owner", func(*testing.T) {
		owner := w.configMap("parent")
		w.configMap("child", ownedBy(owner))
		remove("parent", metav1.DeletePropagationOrphan)
		w.eventually("the owner's end", func() error { return gone(maps.Get(w.ctx, "parent", metav1.GetOptions{})) })
		w.eventually("the child's freedom", func() error {
			child, err := maps.Get(w.ctx, "child", metav1.GetOptions{})
			if err == nil && len(child.OwnerReferences) > 0 {
				err = fmt.Errorf("its owners are %v", child.OwnerReferences)
			}
			return err
		})
	})
	t.Run("two owners: it goes with the second", func(t *testing.T) {
		one, two := w.configMap("one"), w.configMap("two")
		w.configMap("shared", ownedBy(one), ownedBy(two))
		remove("one", metav1.DeletePropagationBackground)
		w.eventually("the first reference's end", func() error {
			shared, err := maps.Get(w.ctx, "shared", metav1.GetOptions{})
			if err == nil && len(shared.OwnerReferences) != 1 {
				err = fmt.Errorf("its owners are %v", shared.OwnerReferences)
			}
			return err
		})
		remove("two", metav1.DeletePropagationBackground)
		w.eventually("collection", func() error { return gone(maps.Get(w.ctx, "shared", metav1.GetOptions{})) })
	})
	t.Run("a custom resource that is defined while the collector runs", w.collectsCustomResources)
}

// collectsCustomResources shows that an informer can be added to a factory that runs.
func (w *world) collectsCustomResources(t *testing.T) {
	gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	w.defineWidgets(t)
	client, err := dynamic.NewForConfig(w.config)
	if err != nil {
		t.Fatal(err)
	}
	owner := w.configMap("widget-owner")
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	widget.SetName("owned")
	widget.SetOwnerReferences([]metav1.OwnerReference{ownedBy(owner)})
	widgets := client.Resource(gvr).Namespace(w.namespace)
	w.eventually("the first widget", func() error {
		_, err := widgets.Create(w.ctx, widget, metav1.CreateOptions{})
		return err
	})
	if err := w.client.CoreV1().ConfigMaps(w.namespace).Delete(w.ctx, owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("collection", func() error { return gone(widgets.Get(w.ctx, "owned", metav1.GetOptions{})) })
}

func (w *world) defineWidgets(t *testing.T) {
	t.Helper()
	client, err := apiextensions.NewForConfig(w.config)
	if err != nil {
		t.Fatal(err)
	}
	anything := true
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com",
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
			}},
		},
	}
	if _, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(w.ctx, definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
