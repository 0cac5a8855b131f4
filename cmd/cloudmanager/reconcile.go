package main

import (
	"context"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/cmd/internal/operator"
	"glasswatch/controller"
	"glasswatch/listwatch"
)

// passTimeout bounds a pass, for an API server that never answers would block a worker for ever.
const passTimeout = 30 * time.Second

// reconcile does what is due for one CloudManager, as far as the gates are open. It never waits for a gate: the event
// that opens it brings the key again.
func (r *reconciler) reconcile(ctx context.Context, key listwatch.Key) (none controller.Result, err error) {
	cm, found := r.managers.Store().GetByKey(key)
	if !found || cm.DeletionTimestamp != nil {
		return none, nil // the garbage collector removes the children
	}
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	finding, err := r.pass(ctx, cm)
	if err == nil {
		err = r.report(ctx, cm, finding)
	}
	return none, err
}

// pass goes through the stages up to the first closed gate. Behind the last one it removes what a rename left over.
func (r *reconciler) pass(ctx context.Context, cm *v1.CloudManager) (f desired.Finding, err error) {
	if err := desired.Validate(cm); err != nil {
		return f.Stop(desired.Invalid(err)), nil
	}
	for _, stage := range desired.Stages(cm) {
		closed := ""
		for _, c := range stage.Children {
			obj, problem, err := r.ensure(ctx, cm, c)
			if err != nil {
				return f, err
			}
			if problem != nil {
				return f.Stop(*problem), nil
			}
			if s, ok := obj.(*appsv1.StatefulSet); ok {
				if fields := desired.Unchangeable(cm, s); len(fields) > 0 {
					f.Problems = append(f.Problems, desired.CannotChange(s.Name, fields))
				}
			}
			if open, why := desired.Open(obj); !open {
				closed = why
			}
		}
		if closed != "" {
			return f.Stop(desired.NotReady(stage.Name, closed)), nil
		}
	}
	return f, r.removeLeftovers(ctx, cm)
}

// ensure brings one child about, and returns it as the server has it; or the problem that keeps it from being there.
func (r *reconciler) ensure(ctx context.Context, cm *v1.CloudManager, c desired.Child) (
	operator.Object, *desired.Problem, error) {
	kind, name := r.children[c.Kind], c.Object.GetName()
	have, found := kind.Get(listwatch.KeyOf(c.Object))
	if !found {
		c.Set(c.Object)
		made, err := kind.Create(ctx, c.Object)
		return r.wrote(ctx, cm, c, desired.ReasonCreated, made, err)
	}
	switch relation := desired.Relate(cm, have); {
	case relation == desired.Foreign:
		return nil, new(desired.Exists(c.Kind, name)), nil
	case relation == desired.Predecessor || have.GetDeletionTimestamp() != nil:
		return nil, new(desired.Deleting(c.Kind, name)), nil
	}
	want := have.DeepCopyObject().(operator.Object)
	c.Set(want)
	if equality.Semantic.DeepEqual(have, want) {
		return have, nil, nil
	}
	corrected, err := kind.Correct(ctx, have, want)
	return r.wrote(ctx, cm, c, desired.ReasonUpdated, corrected, err)
}

// wrote emits the Event of a write. A write that the server calls invalid would be refused again, so it is a problem.
// Other errors are retried.
func (r *reconciler) wrote(ctx context.Context, cm *v1.CloudManager, c desired.Child, reason string, obj operator.Object,
	err error) (operator.Object, *desired.Problem, error) {
	name := c.Object.GetName()
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return nil, new(desired.Rejected(c.Kind, name, err)), nil
	}
	if obj != nil {
		r.tell(ctx, cm, reason, c.Kind, name)
	}
	return obj, nil, err
}

// removeLeftovers deletes what the CloudManager controls and no longer names.
func (r *reconciler) removeLeftovers(ctx context.Context, cm *v1.CloudManager) error {
	wanted := desired.Names(cm)
	for _, name := range slices.Sorted(maps.Keys(r.children)) {
		for _, obj := range r.children[name].ControlledBy(cm.UID) {
			if slices.Contains(wanted, desired.NameOf(name, obj.GetName())) || obj.GetDeletionTimestamp() != nil {
				continue
			}
			err := r.children[name].Remove(ctx, obj)
			if err == nil {
				r.tell(ctx, cm, desired.ReasonDeleted, name, obj.GetName())
			} else if !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}

func (r *reconciler) tell(ctx context.Context, cm *v1.CloudManager, reason, kind, name string) {
	klog.FromContext(ctx).Info(reason, "kind", kind, "name", name)
	r.Recorder.Event(cm, corev1.EventTypeNormal, reason, desired.Message(reason, kind, name))
}

// report writes the status if it changed, and emits the Warning Event of a new problem.
func (r *reconciler) report(ctx context.Context, cm *v1.CloudManager, f desired.Finding) error {
	now := cm.DeepCopy()
	now.Status = desired.Status(cm, f)
	if equality.Semantic.DeepEqual(cm.Status, now.Status) {
		return nil
	}
	written, err := r.client(cm.Namespace).UpdateStatus(ctx, now, metav1.UpdateOptions{FieldManager: desired.ManagedBy})
	if apierrors.IsNotFound(err) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	if problem, ok := desired.Warning(cm.Status, now.Status); ok {
		r.Recorder.Event(cm, corev1.EventTypeWarning, problem.Reason, problem.Message)
	}
	return r.managers.WaitForResourceVersion(ctx, written.ResourceVersion)
}
