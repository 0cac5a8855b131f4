package main

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/rest"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/controller"
	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// childKind reads children of one kind from the cache and writes them.
type childKind interface {
	get(key listwatch.Key) (obj desired.Object, found bool)
	controlledBy(uid types.UID) []desired.Object
	create(ctx context.Context, obj desired.Object) (desired.Object, error)
	correct(ctx context.Context, have, want desired.Object) (desired.Object, error)
	remove(ctx context.Context, obj desired.Object) error
	subscribe(o *operator) error
}

// writer is the part of a typed client that the operator needs.
type writer[T any] interface {
	Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

type kindOf[T desired.Object] struct {
	name     string
	informer *sharedinformer.Informer[T]
	client   func(namespace string) writer[T]
}

func addKind[T desired.Object](
	o *operator, cfg *rest.Config, name string, gvr schema.GroupVersionResource, client func(string) writer[T], transform func(T) (T, error),
) error {
	informer, err := newInformer(o, cfg, gvr, sharedinformer.Options[T]{
		Indexers: indexer.Indexers[T]{byController: controllerOf[T]}, Transform: transform,
	})
	o.kinds[name] = &kindOf[T]{name, informer, client}
	return err
}

func controllerOf[T desired.Object](obj T, dst []string) ([]string, error) {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		dst = append(dst, string(ref.UID))
	}
	return dst, nil
}

// subscribe has two CloudManagers enqueued for each change: the one that controls the child, and each that names it.
func (k *kindOf[T]) subscribe(o *operator) error {
	owner := controller.EnqueueOwner[T](o.loop, v1.Kind.GroupKind())
	_, err := k.informer.AddHandler(owner, sharedinformer.HandlerOptions{Name: "owner"})
	if err != nil {
		return err
	}
	_, err = k.informer.AddHandler(sharedinformer.HandlerFuncs[T]{
		AddFunc:    func(obj T, _ bool) { o.enqueueNaming(k.name, listwatch.KeyOf(obj)) },
		UpdateFunc: func(_, obj T) { o.enqueueNaming(k.name, listwatch.KeyOf(obj)) },
		DeleteFunc: func(d sharedinformer.Deletion[T]) { o.enqueueNaming(k.name, d.Key) },
	}, sharedinformer.HandlerOptions{Name: "named by"})
	return err
}

func (k *kindOf[T]) get(key listwatch.Key) (desired.Object, bool) {
	return k.informer.Store().GetByKey(key)
}

func (k *kindOf[T]) controlledBy(uid types.UID) (children []desired.Object) {
	found, err := k.informer.Store().ByIndex(byController, string(uid))
	if err != nil {
		panic(err) // the index is there from the start
	}
	for _, obj := range found {
		children = append(children, obj)
	}
	return children
}

// create posts the child. An apply would do so as well, but it would adopt an object that got the name meanwhile.
func (k *kindOf[T]) create(ctx context.Context, obj desired.Object) (desired.Object, error) {
	made, err := k.client(obj.GetNamespace()).Create(ctx, obj.(T), metav1.CreateOptions{FieldManager: desired.ManagedBy})
	return k.seen(ctx, made, err)
}

// correct sends what differs and nothing else, so that fields which this program does not know survive. With the uid and
// the resourceVersion the server refuses if the child has changed since, or is another one of that name.
func (k *kindOf[T]) correct(ctx context.Context, have, want desired.Object) (desired.Object, error) {
	// In have the two are left out, so that the difference contains them.
	base := have.DeepCopyObject().(desired.Object)
	base.SetUID("")
	base.SetResourceVersion("")
	from, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	to, err := json.Marshal(want)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(from, to, want)
	if err != nil {
		return nil, err
	}
	corrected, err := k.client(have.GetNamespace()).Patch(ctx, have.GetName(), types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: desired.ManagedBy})
	return k.seen(ctx, corrected, err)
}

// seen returns once the cache has the write. Until then the cache would have the next pass do the same again.
func (k *kindOf[T]) seen(ctx context.Context, written T, err error) (desired.Object, error) {
	if err != nil {
		return nil, err
	}
	return written, k.informer.WaitForResourceVersion(ctx, written.GetResourceVersion())
}

// remove deletes the child if it is unchanged: not another one of its name, and not if it was orphaned meanwhile.
func (k *kindOf[T]) remove(ctx context.Context, obj desired.Object) error {
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	return k.client(obj.GetNamespace()).Delete(ctx, obj.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
	})
}
