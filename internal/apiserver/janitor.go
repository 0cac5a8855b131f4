package apiserver

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/storage"
)

// written is called after each write, with no lock held but s.namespaces. old is nil if the object is new, obj if it is
// gone. An owner that waits for its dependents to be orphaned has to learn that one of them lost its last reference.
func (s *Server) written(ep *endpoint, old, obj resource.Object) {
	if ep.table == crdResource {
		s.definitionWritten()
	}
	if obj == nil || obj.GetDeletionTimestamp() != nil || len(obj.GetOwnerReferences()) > 0 ||
		old != nil && len(old.GetOwnerReferences()) > 0 {
		s.sweepSoon()
	}
}

func (s *Server) sweepSoon() {
	select {
	case s.janitor <- struct{}{}:
	default: // it is due already
	}
}

// clean sweeps a moment after each write that may have left garbage, until ctx is done.
func (s *Server) clean(ctx context.Context) {
	timer := time.NewTimer(s.options.GarbageDelay)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			s.sweep()
		}
		select {
		case <-ctx.Done():
			return
		case <-s.janitor:
			timer.Reset(s.options.GarbageDelay)
		}
	}
}

// sweep looks at every object once. What it deletes calls for another sweep.
func (s *Server) sweep() {
	for _, ep := range s.registry.tables() {
		tree, _, err := s.store.Snapshot(ep.table, 0)
		if err != nil {
			continue
		}
		for _, obj := range tree.Range("", "") {
			s.collect(ep, obj)
		}
	}
	s.emptyNamespaces()
	s.removeDefinitions()
}

// collect does what garbage collection asks of one object. After a conflict the other write's sweep does the work.
func (s *Server) collect(ep *endpoint, obj resource.Object) {
	if obj.GetDeletionTimestamp() != nil {
		s.releaseOwner(ep, obj)
	}
	refs := obj.GetOwnerReferences()
	if len(refs) == 0 {
		return
	}
	var solid, dangling, waiting []types.UID
	for _, ref := range refs {
		owner, known := s.owner(ep, obj, ref)
		switch {
		case !known:
			solid = append(solid, ref.UID) // an owner cannot be looked up: keep the object
		case owner == nil:
			dangling = append(dangling, ref.UID)
		case deletesDependents(owner):
			waiting = append(waiting, ref.UID)
		default:
			solid = append(solid, ref.UID)
		}
	}
	switch {
	case len(dangling)+len(waiting) == 0:
	case len(solid) > 0:
		s.change(ep, obj, func(o resource.Object) {
			o.SetOwnerReferences(slices.DeleteFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
				return !slices.Contains(solid, ref.UID)
			}))
		})
	case obj.GetDeletionTimestamp() == nil:
		policy := metav1.DeletePropagationBackground
		if len(waiting) > 0 && s.hasDependents(obj, false) {
			policy = metav1.DeletePropagationForeground
		} else {
			policy = keptPolicy(obj, policy)
		}
		uid := obj.GetUID()
		_, _, _ = s.deleteObject(ep, obj, &metav1.DeleteOptions{
			PropagationPolicy: &policy,
			Preconditions:     &metav1.Preconditions{UID: &uid},
		})
	}
}

// keptPolicy respects the finalizers that an object was given for its own deletion.
func keptPolicy(obj resource.Object, otherwise metav1.DeletionPropagation) metav1.DeletionPropagation {
	switch {
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return otherwise
}

// owner looks an owner up; nil means that it is gone. known is false if it cannot be looked up.
func (s *Server) owner(ep *endpoint, obj resource.Object, ref metav1.OwnerReference) (owner resource.Object, known bool) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, false
	}
	of := s.registry.findKind(schema.GroupKind{Group: gv.Group, Kind: ref.Kind})
	if of == nil || (of.Namespaced && !ep.Namespaced) {
		return nil, false
	}
	namespace := ""
	if of.Namespaced {
		namespace = obj.GetNamespace()
	}
	owner = s.store.Get(of.table, keyOf(namespace, ref.Name))
	if owner == nil || owner.GetUID() != ref.UID {
		return nil, true
	}
	return owner, true
}

func deletesDependents(owner resource.Object) bool {
	return owner.GetDeletionTimestamp() != nil && slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// releaseOwner takes garbage collection's finalizers off an object that is being deleted once they are served.
func (s *Server) releaseOwner(ep *endpoint, obj resource.Object) {
	if slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		if s.orphanDependents(obj.GetUID()) {
			s.dropFinalizer(ep, obj, metav1.FinalizerOrphanDependents)
		}
	} else if slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents) && !s.hasDependents(obj, true) {
		s.dropFinalizer(ep, obj, metav1.FinalizerDeleteDependents)
	}
}

// hasDependents tells whether an object has dependents; blocking counts only those that block its deletion.
func (s *Server) hasDependents(owner resource.Object, blocking bool) bool {
	found := false
	s.dependents(owner.GetUID(), func(_ *endpoint, _ resource.Object, ref metav1.OwnerReference) {
		found = found || !blocking || (ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion)
	})
	return found
}

// orphanDependents removes the owner from its dependents and tells whether there were none left.
func (s *Server) orphanDependents(uid types.UID) bool {
	done := true
	s.dependents(uid, func(ep *endpoint, obj resource.Object, _ metav1.OwnerReference) {
		done = false
		s.change(ep, obj, func(o resource.Object) {
			o.SetOwnerReferences(slices.DeleteFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == uid }))
		})
	})
	return done
}

func (s *Server) dependents(uid types.UID, visit func(*endpoint, resource.Object, metav1.OwnerReference)) {
	for _, ep := range s.registry.tables() {
		tree, _, err := s.store.Snapshot(ep.table, 0)
		if err != nil {
			continue
		}
		for _, obj := range tree.Range("", "") {
			for _, ref := range obj.GetOwnerReferences() {
				if ref.UID == uid {
					visit(ep, obj, ref)
				}
			}
		}
	}
}

func (s *Server) dropFinalizer(ep *endpoint, obj resource.Object, name string) {
	s.change(ep, obj, func(o resource.Object) {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == name }))
	})
}

// change writes a stored object in place of old, or removes it if that was all that its deletion waited for. It does
// not retry after a conflict: the other write calls for the next sweep, and so does this one.
func (s *Server) change(ep *endpoint, old resource.Object, mutate func(resource.Object)) {
	obj := old.DeepCopyObject().(resource.Object)
	mutate(obj)
	var err error
	if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && !inGrace(obj) && s.mayVanish(obj) {
		err = s.remove(ep, old, obj)
	} else if err = s.store.Update(ep.table, keyOf(old.GetNamespace(), old.GetName()), old, obj); err == nil {
		s.written(ep, old, obj)
	}
	if errors.Is(err, storage.ErrConflict) {
		s.sweepSoon()
	}
}
