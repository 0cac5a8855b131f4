package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	kjson "sigs.k8s.io/json"

	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/storage"
)

func (r *request) delete(w http.ResponseWriter) error {
	opts, err := r.deleteOptions()
	if err != nil {
		return err
	}
	for {
		current, err := r.current()
		if err != nil {
			return err
		}
		if err := r.mayDelete(current); err != nil {
			return err
		}
		out, gone, err := r.server.deleteObject(r.endpoint, current, opts)
		switch {
		case errors.Is(err, storage.ErrConflict):
			continue
		case err != nil:
			return err
		case gone && !r.returnsDeleted():
			return r.write(w, http.StatusOK, r.deleted(current))
		}
		return r.write(w, http.StatusOK, out)
	}
}

func (r *request) deleted(obj resource.Object) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: obj.GetName(), Group: r.GVR.Group, Kind: r.GVR.Resource, UID: obj.GetUID()},
	}
}

// returnsDeleted lists the kinds whose deletion answers with the object instead of a Status.
func (r *request) returnsDeleted() bool {
	return r.GVR.Group == "" && slices.Contains([]string{"pods", "services", "serviceaccounts", "podtemplates",
		"resourcequotas", "persistentvolumes", "persistentvolumeclaims"}, r.GVR.Resource)
}

func (r *request) deleteCollection(w http.ResponseWriter) error {
	opts, err := r.deleteOptions()
	if err != nil {
		return err
	}
	listOpts, err := r.listOptions()
	if err != nil {
		return err
	}
	sel, err := r.selection(listOpts)
	if err != nil {
		return err
	}
	p, err := r.page(listOpts, sel)
	if err != nil {
		return err
	}
	for _, obj := range p.objects {
		if err := r.deleteListed(obj, opts); err != nil {
			return err
		}
	}
	list, err := r.shapeList(p.objects, p.meta)
	if err != nil {
		return err
	}
	return writeEncoded(w, r.http, r.format, http.StatusOK, list)
}

func (r *request) deleteListed(obj resource.Object, opts *metav1.DeleteOptions) error {
	if err := r.mayDelete(obj); err != nil {
		return err
	}
	for {
		_, _, err := r.server.deleteObject(r.endpoint, obj, opts)
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
		if obj = r.server.store.Get(r.table, keyOf(obj.GetNamespace(), obj.GetName())); obj == nil {
			return nil
		}
	}
}

// deleteOptions come in the body, or else in the query.
func (r *request) deleteOptions() (*metav1.DeleteOptions, error) {
	opts := &metav1.DeleteOptions{}
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		info := serializerFor(runtime.ContentTypeJSON)
		if strings.HasPrefix(r.http.Header.Get("Content-Type"), protobufType) {
			info = serializerFor(protobufType)
		}
		kind := schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
		_, is, err := info.Serializer.Decode(body, &kind, opts)
		if runtime.IsNotRegisteredError(err) && is != nil && is.Kind == kind.Kind {
			err = kjson.UnmarshalCaseSensitivePreserveInts(body, opts) // generated clients of a custom resource say that its group has them
		}
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	} else if err := r.decodeQuery(opts); err != nil {
		return nil, err
	}
	if errs := metav1validation.ValidateDeleteOptions(opts); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	//lint:ignore SA1019 clients may still send it
	if r.table == jobsResource && opts.PropagationPolicy == nil && opts.OrphanDependents == nil {
		r.warn([]string{"child pods are preserved by default when jobs are deleted; " +
			"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"})
	}
	return opts, nil
}

// deleteObject deletes current or, if finalizers are in the way, marks it. It returns the object's last state, and
// whether it is gone. storage.ErrConflict means that current is outdated.
func (s *Server) deleteObject(ep *endpoint, current resource.Object, opts *metav1.DeleteOptions) (out resource.Object, gone bool, err error) {
	if err := checkDeletePreconditions(ep, current, opts.Preconditions); err != nil {
		return nil, false, err
	}
	obj := current.DeepCopyObject().(resource.Object)
	obj.SetFinalizers(finalizersFor(ep, obj, opts))
	grace := s.graceOf(obj, opts)
	waits := grace > 0 || len(obj.GetFinalizers()) > 0 || !s.mayVanish(obj)
	if len(opts.DryRun) > 0 {
		return current, !waits, nil
	}
	if !waits {
		return obj, true, s.remove(ep, current, obj)
	}
	isMarked, isShorter := current.GetDeletionTimestamp() != nil, inGrace(current) && grace < *current.GetDeletionGracePeriodSeconds()
	if isMarked && !isShorter && slices.Equal(current.GetFinalizers(), obj.GetFinalizers()) {
		return current, false, nil
	}
	obj = ep.stored(ep.served(obj)) // as any write in this version
	if !isMarked {
		s.markDeleted(ep, obj)
	}
	if grace > 0 && !isMarked || isShorter {
		end := endOfGrace(current, grace)
		if end.Before(ptr.To(now())) {
			end = now()
			grace = min(grace, 1) // what has to end it still has a moment
		}
		obj.SetDeletionTimestamp(&end)
		obj.SetDeletionGracePeriodSeconds(&grace)
	}
	if err := s.store.Update(ep.table, keyOf(obj.GetNamespace(), obj.GetName()), current, obj); err != nil {
		return nil, false, err
	}
	s.written(ep, current, obj)
	return obj, false, nil
}

// endOfGrace is when so many seconds have passed since the deletion: the one that comes now, or the first.
func endOfGrace(current resource.Object, grace int64) metav1.Time {
	deleted := now()
	if inGrace(current) {
		deleted = metav1.NewTime(current.GetDeletionTimestamp().Add(-time.Duration(*current.GetDeletionGracePeriodSeconds()) * time.Second))
	}
	return metav1.NewTime(deleted.Add(time.Duration(grace) * time.Second))
}

// graceOf is how many seconds a Pod has to end after its deletion: none if it runs on no node, or has ended before that. Another
// deletion can only shorten them.
func (s *Server) graceOf(obj resource.Object, opts *metav1.DeleteOptions) int64 {
	pod, ok := obj.(*corev1.Pod)
	if !ok || !s.options.PodGrace {
		return 0
	}
	asked := opts.GracePeriodSeconds
	if asked != nil && *asked < 0 {
		asked = ptr.To[int64](1)
	}
	if inGrace(pod) {
		grace := *pod.DeletionGracePeriodSeconds
		return min(ptr.Deref(asked, grace), grace)
	}
	hasEnded := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.Spec.NodeName == "" || hasEnded {
		return 0
	}
	return ptr.Deref(asked, ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 0))
}

// inGrace tells whether a deleted object has yet to end.
func inGrace(obj resource.Object) bool { return ptr.Deref(obj.GetDeletionGracePeriodSeconds(), 0) > 0 }

func (s *Server) markDeleted(ep *endpoint, obj resource.Object) {
	t, zero := now(), int64(0)
	obj.SetDeletionTimestamp(&t)
	if terminateNamespace(obj) || terminateDefinition(obj) {
		return
	}
	obj.SetDeletionGracePeriodSeconds(&zero)
	if obj.GetGeneration() > 0 {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
}

// remove takes current out of the store; final becomes its last state.
func (s *Server) remove(ep *endpoint, current, final resource.Object) error {
	if err := s.store.Delete(ep.table, keyOf(current.GetNamespace(), current.GetName()), current, final); err != nil {
		return err
	}
	s.written(ep, current, nil)
	return nil
}

// finalizersFor are the object's finalizers with those of garbage collection set as the propagation policy says.
func finalizersFor(ep *endpoint, obj resource.Object, opts *metav1.DeleteOptions) []string {
	finalizers := slices.Clone(obj.GetFinalizers())
	orphan := slices.Contains(finalizers, metav1.FinalizerOrphanDependents)
	foreground := slices.Contains(finalizers, metav1.FinalizerDeleteDependents)
	if ep.table == jobsResource || ep.table == replicationControllersResource { // by default, as ever
		orphan = !foreground
	}
	//lint:ignore SA1019 clients may still send it
	old := opts.OrphanDependents
	switch policy := opts.PropagationPolicy; {
	case old != nil:
		orphan, foreground = *old, false
	case policy != nil:
		orphan, foreground = *policy == metav1.DeletePropagationOrphan, *policy == metav1.DeletePropagationForeground
	}
	finalizers = slices.DeleteFunc(finalizers, func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	if orphan {
		finalizers = append(finalizers, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		finalizers = append(finalizers, metav1.FinalizerDeleteDependents)
	}
	if ep.table == crdResource && obj.GetDeletionTimestamp() == nil && !slices.Contains(finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
		finalizers = append(finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
	}
	return finalizers
}

func checkDeletePreconditions(ep *endpoint, obj resource.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	conflict := func(format string, args ...any) error {
		gr := schema.GroupResource{Group: ep.GVK.Group, Resource: ep.GVK.Kind} // a real server names the kind here
		return apierrors.NewConflict(gr, obj.GetName(), fmt.Errorf(format, args...))
	}
	if p.UID != nil && *p.UID != obj.GetUID() {
		return conflict("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated",
			*p.UID, obj.GetUID())
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != obj.GetResourceVersion() {
		return conflict("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified",
			*p.ResourceVersion, obj.GetResourceVersion())
	}
	return nil
}
