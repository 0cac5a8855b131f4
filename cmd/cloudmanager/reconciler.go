package main

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/cmd/internal/layers"
	"glasswatch/cmd/internal/operator"
	"glasswatch/controller"
	"glasswatch/indexer"
	"glasswatch/internal/custom"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// managersClient reads and writes the CloudManagers of one namespace.
type managersClient = gentype.ClientWithList[*v1.CloudManager, *v1.CloudManagerList]

// reconciler brings CloudManagers about: five informers, four of them for children, and one loop.
type reconciler struct {
	*layers.Layers
	client   func(namespace string) *managersClient
	managers *sharedinformer.Informer[*v1.CloudManager]
	children map[string]Children // by desired.Child.Kind
}

const byChild = "child" // the index of CloudManagers by the children that they name

// newReconciler does not talk to the cluster.
func newReconciler(cfg *rest.Config, p operator.Parts) (*reconciler, error) {
	r := &reconciler{children: map[string]Children{}}
	var err2, err3, err4 error
	kube, err1 := kubernetes.NewForConfig(cfg)
	r.client, err2 = custom.NewClient[v1.CloudManager, v1.CloudManagerList](cfg, v1.Scheme, v1.Resource)
	r.Layers, err3 = layers.New(cfg, p, desired.ManagedBy, v1.Scheme, r.reconcile)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	r.managers, err4 = layers.NewInformer(r.Layers, v1.Resource, v1.Scheme, sharedinformer.Options[*v1.CloudManager]{
		Indexers: indexer.Indexers[*v1.CloudManager]{byChild: childrenOf},
	})
	// A change of the status wakes it, too: it may be somebody else's, or one whose answer was lost.
	layers.Handle(r.Layers, r.managers, controller.EnqueueObject[*v1.CloudManager](r.Loop))
	apps, core := appsv1.SchemeGroupVersion, corev1.SchemeGroupVersion
	redact := withoutForeignData(desired.LabelManagedBy, desired.ManagedBy)
	return r, errors.Join(err4,
		addKind(r, "deployment", apps.WithResource("deployments"), nil,
			func(ns string) writer[*appsv1.Deployment] { return kube.AppsV1().Deployments(ns) }),
		addKind(r, "statefulset", apps.WithResource("statefulsets"), nil,
			func(ns string) writer[*appsv1.StatefulSet] { return kube.AppsV1().StatefulSets(ns) }),
		addKind(r, "service", core.WithResource("services"), nil,
			func(ns string) writer[*corev1.Service] { return kube.CoreV1().Services(ns) }),
		addKind(r, "secret", core.WithResource("secrets"), redact,
			func(ns string) writer[*corev1.Secret] { return kube.CoreV1().Secrets(ns) }))
}

// addKind has two CloudManagers enqueued for each change of a child: the one that controls it, and each that names it.
func addKind[T object](r *reconciler, kind string, gvr schema.GroupVersionResource,
	transform func(T) (T, error), client func(string) writer[T]) (err error) {
	changed := func(child listwatch.Key) {
		naming, err := r.managers.Store().ByIndex(byChild, child.Namespace+"/"+desired.NameOf(kind, child.Name))
		if err != nil {
			panic(err) // the index is there from the start
		}
		for _, cm := range naming {
			r.Loop.Enqueue(listwatch.KeyOf(cm))
		}
	}
	r.children[kind], err = newChildren(r.Layers, gvr, v1.Kind.GroupKind(), transform, changed, client)
	return err
}

func childrenOf(cm *v1.CloudManager, dst []string) ([]string, error) {
	for _, name := range desired.Names(cm) {
		dst = append(dst, cm.Namespace+"/"+name)
	}
	return dst, nil
}
