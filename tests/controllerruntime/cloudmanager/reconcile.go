package cloudmanager

import (
	"context"
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
)

// Reconciler makes what CloudManagers ask for. Its client reads from the cache and writes to the API server.
type Reconciler struct {
	client.Client
	Events events.EventRecorder
}

// Reconcile looks at one CloudManager. It never asks to be called again: what it waits for sends an event.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var cm v1.CloudManager
	if err := r.Get(ctx, req.NamespacedName, &cm); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !cm.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // the garbage collector takes the children
	}
	finding, err := r.reconcileStages(ctx, &cm)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.updateStatus(ctx, &cm, finding)
}

// reconcileStages stops at the first gate that is closed.
func (r *Reconciler) reconcileStages(ctx context.Context, cm *v1.CloudManager) (f desired.Finding, err error) {
	if err := desired.Validate(cm); err != nil {
		return blocked(f, desired.Invalid(err)), nil
	}
	for _, stage := range desired.Stages(cm) {
		for _, child := range stage.Children {
			if f, err = r.reconcileChild(ctx, cm, child, f); err != nil || f.Closed != nil {
				return f, err
			}
		}
		for _, child := range stage.Children {
			if open, why := desired.Open(child.Object); !open {
				f.Closed = ptr.To(desired.NotReady(stage.Name, why))
				return f, nil
			}
		}
	}
	return f, r.deleteLeftovers(ctx, cm)
}

// blocked adds a problem that only a person can solve.
func blocked(f desired.Finding, p desired.Problem) desired.Finding {
	f.Closed, f.Problems = &p, append(f.Problems, p)
	return f
}

// The reasons for which an object that exists is not written.
var (
	errForeign  = errors.New("it is not controlled by this CloudManager")
	errDeleting = errors.New("it is being deleted")
)

// reconcileChild puts the owned fields of one child right. child.Object is then what the server has.
func (r *Reconciler) reconcileChild(
	ctx context.Context, cm *v1.CloudManager, child desired.Child, f desired.Finding,
) (desired.Finding, error) {
	obj, name := child.Object, child.Object.GetName()
	done, err := controllerutil.CreateOrUpdate(ctx, r.Client, obj, func() error {
		if obj.GetUID() != "" {
			switch relation := desired.Relate(cm, obj); {
			case relation == desired.Foreign:
				return errForeign
			case relation == desired.Predecessor || obj.GetDeletionTimestamp() != nil:
				return errDeleting
			}
		}
		child.Set(obj)
		return nil
	})
	switch {
	case errors.Is(err, errForeign):
		return blocked(f, desired.Exists(child.Kind, name)), nil
	case errors.Is(err, errDeleting):
		f.Closed = ptr.To(desired.Deleting(child.Kind, name))
		return f, nil
	case apierrors.IsInvalid(err):
		return blocked(f, desired.Rejected(child.Kind, name, err)), nil
	case err != nil:
		return f, err
	}
	if set, ok := obj.(*appsv1.StatefulSet); ok {
		if fields := desired.Unchangeable(cm, set); len(fields) > 0 {
			f.Problems = append(f.Problems, desired.CannotChange(name, fields))
		}
	}
	switch done {
	case controllerutil.OperationResultCreated:
		r.report(cm, obj, desired.ReasonCreated, child.Kind)
	case controllerutil.OperationResultUpdated:
		r.report(cm, obj, desired.ReasonUpdated, child.Kind)
	}
	return f, nil
}

// deleteLeftovers deletes the children that cm controls and no longer asks for, as after a rename.
func (r *Reconciler) deleteLeftovers(ctx context.Context, cm *v1.CloudManager) error {
	var errs []error
	for kind, list := range map[string]client.ObjectList{
		"deployment": &appsv1.DeploymentList{}, "statefulset": &appsv1.StatefulSetList{}, "service": &corev1.ServiceList{},
	} {
		if err := r.List(ctx, list, controlledBy(cm.Namespace, cm.UID)...); err != nil {
			return err
		}
		errs = append(errs, meta.EachListItem(list, func(item runtime.Object) error {
			obj := item.(client.Object)
			if obj.GetDeletionTimestamp() != nil || slices.Contains(desired.Names(cm), desired.NameOf(kind, obj.GetName())) {
				return nil
			}
			err := r.Delete(ctx, obj, client.Preconditions{UID: ptr.To(obj.GetUID())})
			if err == nil {
				r.report(cm, obj, desired.ReasonDeleted, kind)
			}
			return client.IgnoreNotFound(err)
		}))
	}
	return errors.Join(errs...)
}

// updateStatus writes a status that differs, and then warns of a problem that is new.
func (r *Reconciler) updateStatus(ctx context.Context, cm *v1.CloudManager, f desired.Finding) error {
	before := cm.Status
	cm.Status = desired.Status(cm, f)
	if equality.Semantic.DeepEqual(before, cm.Status) {
		return nil
	}
	after := cm.Status
	if err := r.Status().Update(ctx, cm); err != nil {
		return err
	}
	if problem, ok := desired.Warning(before, after); ok {
		r.Events.Eventf(cm, nil, corev1.EventTypeWarning, problem.Reason, "Reconcile", "%s", problem.Message)
	}
	return nil
}

// report records an Event for a write that changed something. It names the child as related: the recorder takes two
// Events for the same one if they differ in nothing but their text.
func (r *Reconciler) report(cm *v1.CloudManager, child client.Object, reason, kind string) {
	r.Events.Eventf(cm, child, corev1.EventTypeNormal, reason, "Reconcile", "%s", desired.Message(reason, kind, child.GetName()))
}
