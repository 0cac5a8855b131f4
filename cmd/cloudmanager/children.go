package main

import (
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"glasswatch/cmd/internal/layers"
	"glasswatch/controller"
	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// object is any object of a kind with a Go type. It is what controller-runtime calls client.object.
type object interface {
	metav1.Object
	runtime.Object
}

// Children are the objects of one kind that a controller makes for its owners. They come from the cache and must not be
// modified. Create and Correct return once the cache has the write: until then the next reconcile would do it again.
type Children interface {
	Get(key listwatch.Key) (obj object, found bool)
	ControlledBy(uid types.UID) []object
	Create(ctx context.Context, obj object) (object, error)
	// Correct has set change a copy of have, which comes from the cache, and writes what differs. If the child has changed
	// since the cache had it so, that is a conflict. It tells whether the server changed it.
	Correct(ctx context.Context, have object, set func(object)) (now object, changed bool, err error)
	// Remove deletes obj. If it has changed since the cache had it so, that is a conflict.
	Remove(ctx context.Context, obj object) error
}

// writer is the part of a typed client that [Children] need.
type writer[T any] interface {
	Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions,
		subresources ...string) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

type children[T object] struct {
	informer *sharedinformer.Informer[T]
	client   func(namespace string) writer[T]
	manager  string // of the fields
}

// byController is the index of children by the UID of their controller.
const byController = "controller"

// newChildren adds an informer. For each change of a child its controller of the owner's kind is enqueued, and changed
// is told the child's key: a name that is taken by somebody else's object may be waited for. transform may be nil.
func newChildren[T object](l *layers.Layers, gvr schema.GroupVersionResource, owner schema.GroupKind,
	transform func(T) (T, error), changed func(listwatch.Key), client func(ns string) writer[T]) (Children, error) {
	informer, err := layers.NewInformer(l, gvr, nil, sharedinformer.Options[T]{
		Indexers: indexer.Indexers[T]{byController: controllerOf[T]}, Transform: transform,
	})
	if err != nil {
		return nil, err
	}
	layers.Handle(l, informer, controller.EnqueueOwner[T](l.Loop, owner))
	layers.Handle(l, informer, sharedinformer.HandlerFuncs[T]{
		AddFunc:    func(obj T, _ bool) { changed(listwatch.KeyOf(obj)) },
		UpdateFunc: func(_, obj T) { changed(listwatch.KeyOf(obj)) },
		DeleteFunc: func(d sharedinformer.Deletion[T]) { changed(d.Key) },
	})
	return &children[T]{informer, client, l.Loop.Name()}, nil
}

func controllerOf[T object](obj T, dst []string) ([]string, error) {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		dst = append(dst, string(ref.UID))
	}
	return dst, nil
}

// Get returns the child of that name, whoever it belongs to.
func (c *children[T]) Get(key listwatch.Key) (object, bool) { return c.informer.Store().GetByKey(key) }

// ControlledBy returns the children of one owner.
func (c *children[T]) ControlledBy(uid types.UID) (all []object) {
	found, err := c.informer.Store().ByIndex(byController, string(uid))
	if err != nil {
		panic(err) // the index is there from the start
	}
	for _, obj := range found {
		all = append(all, obj)
	}
	return all
}

// Create posts the child. An apply would do so as well, but it would adopt an object that got the name meanwhile.
func (c *children[T]) Create(ctx context.Context, obj object) (object, error) {
	made, err := c.client(obj.GetNamespace()).Create(ctx, obj.(T), metav1.CreateOptions{FieldManager: c.manager})
	return c.seen(ctx, made, err)
}

// Correct sends what differs and nothing else, so that fields which this program does not know survive. With the uid
// and the resourceVersion the server refuses if the child has changed since, or is another one of that name. An
// admission webhook may take the change back: then the resourceVersion stays.
func (c *children[T]) Correct(ctx context.Context, have object, set func(object)) (object, bool, error) {
	want := have.DeepCopyObject().(object)
	set(want)
	if equality.Semantic.DeepEqual(have, want) {
		return have, false, nil
	}
	base := have.DeepCopyObject().(object)
	base.SetUID("") // so that the difference contains both, as the cache has them
	base.SetResourceVersion("")
	want.SetUID(have.GetUID())
	want.SetResourceVersion(have.GetResourceVersion())
	from, err1 := json.Marshal(base)
	to, err2 := json.Marshal(want)
	patch, err3 := strategicpatch.CreateTwoWayMergePatch(from, to, want)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, false, err
	}
	corrected, err := c.client(have.GetNamespace()).Patch(ctx, have.GetName(), types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: c.manager})
	if err != nil {
		return nil, false, err
	}
	now, err := c.seen(ctx, corrected, nil)
	return now, corrected.GetResourceVersion() != have.GetResourceVersion(), err
}

func (c *children[T]) seen(ctx context.Context, written T, err error) (object, error) {
	if err != nil {
		return nil, err
	}
	return written, c.informer.WaitForResourceVersion(ctx, written.GetResourceVersion())
}

// Remove deletes neither another child of the name, nor this one if it was orphaned meanwhile.
func (c *children[T]) Remove(ctx context.Context, obj object) error {
	unchanged := &metav1.Preconditions{UID: new(obj.GetUID()), ResourceVersion: new(obj.GetResourceVersion())}
	return c.client(obj.GetNamespace()).Delete(ctx, obj.GetName(), metav1.DeleteOptions{Preconditions: unchanged})
}

// withoutForeignData returns a transform that keeps what Secrets without this label contain out of the cache: the data,
// and copies of it that tools leave in the metadata, such as the annotation last-applied-configuration.
func withoutForeignData(label, value string) func(s *corev1.Secret) (*corev1.Secret, error) {
	return func(s *corev1.Secret) (*corev1.Secret, error) {
		if s.Labels[label] != value {
			s.Data, s.Annotations, s.ManagedFields = nil, nil, nil
		}
		return s, nil
	}
}
