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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
)

// Reconciler makes what CloudManagers ask for. Its client reads from the cache and writes to the API server.
type Reconciler struct {
	client.Client
	Live   client.Reader // reads from the API server
	Events events.EventRecorder

	deletions []client.DeleteOption
}

// errStale ends a pass whose CloudManager has changed or is deleted, unknown to the cache. The event will come.
var errStale = errors.New("the cache is behind")

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
	if err == nil {
		err = r.updateStatus(ctx, &cm, finding)
	}
	if errors.Is(err, errStale) {
		err = nil
	}
	return ctrl.Result{}, err
}

// reconcileStages stops at the first gate that is closed.
func (r *Reconciler) reconcileStages(ctx context.Context, cm *v1.CloudManager) (f desired.Finding, err error) {
	if err := desired.Validate(cm); err != nil {
		return f.Stop(desired.Invalid(err)), nil
	}
	for _, stage := range desired.Stages(cm) {
		for _, child := range stage.Children {
			problem, err := r.reconcileChild(ctx, cm, child)
			switch {
			case err != nil:
				return f, err
			case problem != nil:
				return f.Stop(*problem), nil
			}
			f.Problems = append(f.Problems, desired.Unchangeable(cm, child.Object)...)
		}
		for _, child := range stage.Children {
			if open, why := desired.Open(child.Object); !open {
				return f.Stop(desired.NotReady(stage.Name, why)), nil
			}
		}
	}
	return f, r.deleteLeftovers(ctx, cm)
}

// reconcileChild puts the owned fields of one child right. child.Object is then what the server has. A write that the
// server calls invalid would be refused again, so it is a problem and not an error.
func (r *Reconciler) reconcileChild(
	ctx context.Context, cm *v1.CloudManager, child desired.Child,
) (*desired.Problem, error) {
	obj, name := child.Object, child.Object.GetName()
	err := r.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	switch relation := desired.Relate(cm, obj); {
	case apierrors.IsNotFound(err):
		err = r.create(ctx, cm, child)
	case err != nil:
		return nil, err
	case relation == desired.Foreign:
		return new(desired.Exists(child.Kind, name)), nil
	case relation == desired.Predecessor || obj.GetDeletionTimestamp() != nil:
		return new(desired.Deleting(child.Kind, name)), nil
	default:
		err = r.correct(ctx, cm, child)
	}
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return new(desired.Rejected(child.Kind, name, err)), nil
	}
	return nil, err
}

// confirm asks the API server whether the cache has the present CloudManager. It is asked before a create, for nobody
// would collect a Secret that is made too late. It is asked before a deletion, for the present spec may name the child.
func (r *Reconciler) confirm(ctx context.Context, cm *v1.CloudManager) error {
	var now v1.CloudManager
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(cm), &now); apierrors.IsNotFound(err) {
		return errStale
	} else if err != nil {
		return err
	}
	if now.UID != cm.UID || now.Generation != cm.Generation || now.DeletionTimestamp != nil {
		return errStale
	}
	return nil
}

func (r *Reconciler) create(ctx context.Context, cm *v1.CloudManager, child desired.Child) error {
	if err := r.confirm(ctx, cm); err != nil {
		return err
	}
	child.Set(child.Object)
	if err := r.Create(ctx, child.Object); err != nil {
		return err
	}
	r.report(cm, child.Object, desired.ReasonCreated, child.Kind)
	return nil
}

// correct is not controllerutil.CreateOrUpdate, which sends the whole object. Fields that these types do not know would
// be lost. The patch has what differs, and the resourceVersion: the server refuses it if the child has changed since.
func (r *Reconciler) correct(ctx context.Context, cm *v1.CloudManager, child desired.Child) error {
	before := child.Object.DeepCopyObject().(client.Object)
	child.Set(child.Object)
	if equality.Semantic.DeepEqual(before, child.Object) {
		return nil
	}
	patch := client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, child.Object, patch); err != nil {
		return err
	}
	// An admission webhook may have taken the change back.
	if child.Object.GetResourceVersion() != before.GetResourceVersion() {
		r.report(cm, child.Object, desired.ReasonUpdated, child.Kind)
	}
	return nil
}

// deleteLeftovers deletes the children that cm controls and no longer asks for, as after a rename.
func (r *Reconciler) deleteLeftovers(ctx context.Context, cm *v1.CloudManager) error {
	wanted := desired.Names(cm)
	for kind, list := range map[string]client.ObjectList{
		"deployment":  &appsv1.DeploymentList{},
		"statefulset": &appsv1.StatefulSetList{},
		"service":     &corev1.ServiceList{},
	} {
		err := r.List(ctx, list, client.InNamespace(cm.Namespace), client.MatchingFields{byController: string(cm.UID)})
		if err != nil {
			return err
		}
		err = meta.EachListItem(list, func(item runtime.Object) error {
			obj := item.(client.Object)
			if obj.GetDeletionTimestamp() != nil || slices.Contains(wanted, desired.NameOf(kind, obj.GetName())) {
				return nil
			}
			if err := r.confirm(ctx, cm); err != nil {
				return err
			}
			same := client.Preconditions{UID: new(obj.GetUID()), ResourceVersion: new(obj.GetResourceVersion())}
			err := r.Delete(ctx, obj, append(r.deletions, same)...)
			if err == nil {
				r.report(cm, obj, desired.ReasonDeleted, kind)
			}
			return client.IgnoreNotFound(err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// updateStatus writes a status that differs, and then warns of a problem that is new.
func (r *Reconciler) updateStatus(ctx context.Context, cm *v1.CloudManager, f desired.Finding) error {
	before, after := cm.Status, desired.Status(cm, f)
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	cm.Status = after
	if err := r.Status().Update(ctx, cm); err != nil {
		return client.IgnoreNotFound(err)
	}
	if problem, ok := desired.Warning(before, after); ok {
		r.Events.Eventf(cm, nil, corev1.EventTypeWarning, problem.Reason, "Reconcile", "%s", problem.Message)
	}
	return nil
}

// report records an Event for a write that changed something. It names the child as related: the recorder takes two
// Events for the same one if they differ in nothing but their text.
func (r *Reconciler) report(cm *v1.CloudManager, child client.Object, reason, kind string) {
	message := desired.Message(reason, kind, child.GetName())
	r.Events.Eventf(cm, child, corev1.EventTypeNormal, reason, "Reconcile", "%s", message)
}
