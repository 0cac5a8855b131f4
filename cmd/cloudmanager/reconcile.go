package main

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/controller"
	"glasswatch/listwatch"
)

// reconcile does what is due for one CloudManager, as far as the gates are open. It never waits for a gate: the event
// that opens it brings the key again.
func (r *reconciler) reconcile(ctx context.Context, key listwatch.Key) (none controller.Result, err error) {
	cm, found := r.managers.Store().GetByKey(key)
	if !found || cm.DeletionTimestamp != nil {
		return none, nil // the garbage collector removes the children
	}
	// An API server that never answers would block a worker for ever.
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	finding, err := r.pass(ctx, cm)
	if err == nil {
		err = r.report(ctx, cm, finding)
	}
	if errors.Is(err, errStale) {
		err = nil // the event that the cache lacks brings the key again
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
			f.Problems = append(f.Problems, desired.Unchangeable(cm, obj)...)
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

// ensure brings one child about, and returns it as the server has it; or the problem that keeps it from being there. It
// emits the Event of a write. A write that the server calls invalid would be refused again, so it is a problem. Other
// errors are retried.
func (r *reconciler) ensure(ctx context.Context, cm *v1.CloudManager, c desired.Child) (
	now object, _ *desired.Problem, err error) {
	kind, name := r.children[c.Kind], c.Object.GetName()
	have, found := kind.Get(listwatch.KeyOf(c.Object))
	wrote, changed := desired.ReasonUpdated, false
	switch {
	case !found:
		if err = r.confirm(ctx, cm); err == nil {
			c.Set(c.Object)
			now, err = kind.Create(ctx, c.Object)
		}
		wrote, changed = desired.ReasonCreated, now != nil
	case desired.Relate(cm, have) == desired.Foreign:
		return nil, new(desired.Exists(c.Kind, name)), nil
	case desired.Relate(cm, have) == desired.Predecessor || have.GetDeletionTimestamp() != nil:
		return nil, new(desired.Deleting(c.Kind, name)), nil
	default:
		now, changed, err = kind.Correct(ctx, have, func(obj object) { c.Set(obj) })
	}
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return nil, new(desired.Rejected(c.Kind, name, err)), nil
	}
	if changed {
		r.tell(ctx, cm, wrote, c.Kind, name)
	}
	return now, nil, err
}

// errStale ends a pass whose CloudManager has changed or is deleted, unknown to the cache.
var errStale = errors.New("the cache is behind")

// confirm asks the API server whether the cache has the present CloudManager, before something is made or deleted. What
// is made too late may stay: the Secret has no owner. What is deleted may be what the present spec names.
func (r *reconciler) confirm(ctx context.Context, cm *v1.CloudManager) error {
	now, err := r.client(cm.Namespace).Get(ctx, cm.Name, metav1.GetOptions{})
	same := err == nil && now.UID == cm.UID && now.Generation == cm.Generation && now.DeletionTimestamp == nil
	if apierrors.IsNotFound(err) || err == nil && !same {
		return errStale
	}
	return err
}

// removeLeftovers deletes what the CloudManager controls and no longer names, Secrets apart.
func (r *reconciler) removeLeftovers(ctx context.Context, cm *v1.CloudManager) error {
	wanted := desired.Names(cm)
	for _, kind := range []string{"deployment", "service", "statefulset"} {
		for _, obj := range r.children[kind].ControlledBy(cm.UID) {
			if slices.Contains(wanted, desired.NameOf(kind, obj.GetName())) || obj.GetDeletionTimestamp() != nil {
				continue
			}
			if err := r.confirm(ctx, cm); err != nil {
				return err
			}
			err := r.children[kind].Remove(ctx, obj)
			if err == nil {
				r.tell(ctx, cm, desired.ReasonDeleted, kind, obj.GetName())
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
