package main

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
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

// passTimeout bounds a pass, for an API server that never answers would block a worker for ever.
const passTimeout = 30 * time.Second

// reconcile does what is due for one CloudManager, as far as the gates are open. It never waits for a gate: the event that
// opens it brings the key again.
func (o *operator) reconcile(ctx context.Context, key listwatch.Key) (controller.Result, error) {
	cm, found := o.managers.Store().GetByKey(key)
	if !found || cm.DeletionTimestamp != nil {
		return controller.Result{}, nil // the garbage collector removes the children
	}
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	finding, err := o.pass(ctx, cm)
	if err == nil {
		err = o.report(ctx, cm, finding)
	}
	return controller.Result{}, err
}

// pass goes through the stages up to the first closed gate. Behind the last one it removes what a rename left over.
func (o *operator) pass(ctx context.Context, cm *v1.CloudManager) (f desired.Finding, err error) {
	stopAt := func(p desired.Problem, blocks bool) (desired.Finding, error) {
		if blocks {
			f.Problems = append(f.Problems, p)
		}
		f.Closed = &p
		return f, nil
	}
	if err := desired.Validate(cm); err != nil {
		return stopAt(desired.Invalid(err), true)
	}
	for _, stage := range desired.Stages(cm) {
		closed := ""
		for _, c := range stage.Children {
			obj, problem, err := o.ensure(ctx, cm, c)
			if err != nil {
				return f, err
			}
			if problem != nil {
				return stopAt(*problem, problem.Reason != desired.ReasonPending)
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
			return stopAt(desired.NotReady(stage.Name, closed), false)
		}
	}
	return f, o.removeLeftovers(ctx, cm)
}

// ensure brings one child about, and returns it as it is on the server; or the problem that keeps it from being there.
func (o *operator) ensure(ctx context.Context, cm *v1.CloudManager, c desired.Child) (desired.Object, *desired.Problem, error) {
	kind, name := o.kinds[c.Kind], c.Object.GetName()
	have, found := kind.get(listwatch.KeyOf(c.Object))
	if !found {
		c.Set(c.Object)
		made, err := kind.create(ctx, c.Object)
		return o.wrote(ctx, cm, c, desired.ReasonCreated, made, err)
	}
	relation := desired.Relate(cm, have)
	switch {
	case relation == desired.Foreign:
		problem := desired.Exists(c.Kind, name)
		return nil, &problem, nil
	case relation == desired.Predecessor || have.GetDeletionTimestamp() != nil:
		problem := desired.Deleting(c.Kind, name)
		return nil, &problem, nil
	}
	want := have.DeepCopyObject().(desired.Object)
	c.Set(want)
	if equality.Semantic.DeepEqual(have, want) {
		return have, nil, nil
	}
	corrected, err := kind.correct(ctx, have, want)
	return o.wrote(ctx, cm, c, desired.ReasonUpdated, corrected, err)
}

// wrote emits the Event of a write. A write that the server calls invalid would be refused again, so it is a problem; all
// other errors are retried.
func (o *operator) wrote(ctx context.Context, cm *v1.CloudManager, c desired.Child, reason string, obj desired.Object, err error) (
	desired.Object, *desired.Problem, error) {
	if obj != nil {
		o.tell(ctx, cm, reason, c.Kind, c.Object.GetName())
	}
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		problem := desired.Rejected(c.Kind, c.Object.GetName(), err)
		return nil, &problem, nil
	}
	return obj, nil, err
}

func (o *operator) removeLeftovers(ctx context.Context, cm *v1.CloudManager) error {
	wanted := map[string]bool{}
	for _, name := range desired.Names(cm) {
		wanted[name] = true
	}
	for name, kind := range o.kinds {
		for _, obj := range kind.controlledBy(cm.UID) {
			if wanted[desired.NameOf(name, obj.GetName())] || obj.GetNamespace() != cm.Namespace || obj.GetDeletionTimestamp() != nil {
				continue
			}
			err := kind.remove(ctx, obj)
			if err == nil {
				o.tell(ctx, cm, desired.ReasonDeleted, name, obj.GetName())
			} else if !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}

func (o *operator) tell(ctx context.Context, cm *v1.CloudManager, reason, kind, name string) {
	klog.FromContext(ctx).Info(reason, "kind", kind, "name", name)
	o.recorder.Event(cm, corev1.EventTypeNormal, reason, desired.Message(reason, kind, name))
}

// report writes the status if it changed, and emits the Warning Event of a new problem.
func (o *operator) report(ctx context.Context, cm *v1.CloudManager, f desired.Finding) error {
	status := desired.Status(cm, f)
	if equality.Semantic.DeepEqual(cm.Status, status) {
		return nil
	}
	now := cm.DeepCopy()
	now.Status = status
	written, err := o.client.In(cm.Namespace).UpdateStatus(ctx, now, metav1.UpdateOptions{FieldManager: desired.ManagedBy})
	if apierrors.IsNotFound(err) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	if problem, ok := desired.Warning(cm.Status, status); ok {
		o.recorder.Event(cm, corev1.EventTypeWarning, problem.Reason, problem.Message)
	}
	return o.managers.WaitForResourceVersion(ctx, written.ResourceVersion)
}
