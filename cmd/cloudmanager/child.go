package main

import (
	"context"
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/cmd/internal/operator"
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
}

// writer is the part of a typed client that the operator needs.
type writer[T any] interface {
	Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, sub ...string) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

type kindOf[T desired.Object] struct {
	informer *sharedinformer.Informer[T]
	client   func(namespace string) writer[T]
}

// addKind has two CloudManagers enqueued for each change of a child: the one that controls it, and each that names it.
func addKind[T desired.Object](r *reconciler, kind string, gvr schema.GroupVersionResource,
	transform func(T) (T, error), client func(string) writer[T]) error {
	informer, err := operator.NewInformer(r.Layers, gvr, nil, sharedinformer.Options[T]{
		Indexers: indexer.Indexers[T]{byController: controllerOf[T]}, Transform: transform,
	})
	if err != nil {
		return err
	}
	r.kinds[kind] = &kindOf[T]{informer, client}
	operator.Handle(r.Layers, informer, controller.EnqueueOwner[T](r.Loop, v1.Kind.GroupKind()))
	operator.Handle(r.Layers, informer, sharedinformer.HandlerFuncs[T]{
		AddFunc:    func(obj T, _ bool) { r.enqueueNaming(kind, listwatch.KeyOf(obj)) },
		UpdateFunc: func(_, obj T) { r.enqueueNaming(kind, listwatch.KeyOf(obj)) },
		DeleteFunc: func(d sharedinformer.Deletion[T]) { r.enqueueNaming(kind, d.Key) },
	})
	return nil
}

func controllerOf[T desired.Object](obj T, dst []string) ([]string, error) {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		dst = append(dst, string(ref.UID))
	}
	return dst, nil
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
	base := have.DeepCopyObject().(desired.Object)
	base.SetUID("") // so that the difference contains both
	base.SetResourceVersion("")
	from, err1 := json.Marshal(base)
	to, err2 := json.Marshal(want)
	patch, err3 := strategicpatch.CreateTwoWayMergePatch(from, to, want)
	if err := errors.Join(err1, err2, err3); err != nil {
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
	unchanged := &metav1.Preconditions{UID: new(obj.GetUID()), ResourceVersion: new(obj.GetResourceVersion())}
	return k.client(obj.GetNamespace()).Delete(ctx, obj.GetName(), metav1.DeleteOptions{Preconditions: unchanged})
}
