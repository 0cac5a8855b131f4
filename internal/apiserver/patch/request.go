package patch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Request is one PATCH request.
type Request struct {
	Type types.PatchType // media type of the body, without parameters
	Body []byte

	// Name and Namespace of the URL: a result with others is refused. An empty Name skips both checks.
	Name, Namespace string

	FieldManager    string // query parameter, may be empty except for server-side apply
	UserAgent       string // names the manager if FieldManager does not
	Force           *bool  // server-side apply only
	FieldValidation string // Ignore, Warn or Strict; empty means Warn
	DryRun          []string
}

// Types lists the media types that a PATCH of the kind accepts, in the real server's order.
func (p *Patcher) Types() []string {
	if p.Custom() {
		return []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)}
	}
	return []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType)}
}

// Patch returns what the current object becomes, with its managedFields, and the warnings to send along.
// A nil current object is a missing one: server-side apply creates it, every other type answers NotFound.
func (p *Patcher) Patch(current runtime.Object, req Request) (runtime.Object, []string, error) {
	if err := p.checkRequest(req); err != nil {
		return nil, nil, err
	}
	apply := req.Type == types.ApplyYAMLPatchType
	if current == nil && !apply {
		return nil, nil, apierrors.NewNotFound(p.groupResource(), req.Name)
	}
	manager, err := p.manager()
	if err != nil {
		return nil, nil, apierrors.NewInternalError(err)
	}

	live := p.kind.empty()
	if current != nil {
		live = p.copyOf(current)
	}
	var out runtime.Object
	var warnings []string
	if apply {
		out, warnings, err = p.apply(manager, live, req)
	} else {
		out, warnings, err = p.patchBody(live, req)
		if err == nil {
			out = track(manager, p.copyOf(live), out, ManagerName(req.FieldManager, req.UserAgent))
		}
	}
	if err != nil {
		return nil, nil, statusError(err)
	}
	if err := p.checkIdentity(current, out, req); err != nil {
		return nil, nil, err
	}
	if current != nil {
		keepTimestamps(live, out)
	}
	return out, warnings, nil
}

func (p *Patcher) checkRequest(req Request) error {
	known := false
	for _, t := range p.Types() {
		known = known || t == string(req.Type)
	}
	if !known {
		return unsupportedMediaType(p.Types())
	}
	if req.Type != types.ApplyYAMLPatchType && !json.Valid(req.Body) {
		return apierrors.NewBadRequest("invalid JSON patch")
	}
	opts := &metav1.PatchOptions{FieldManager: req.FieldManager, Force: req.Force, FieldValidation: req.FieldValidation, DryRun: req.DryRun}
	if errs := metav1validation.ValidatePatchOptions(opts, req.Type); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "", errs)
	}
	return nil
}

// checkIdentity refuses a patch that would rename or move the object, or that was meant for one that is gone.
func (p *Patcher) checkIdentity(current, out runtime.Object, req Request) error {
	obj, err := meta.Accessor(out)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if current == nil && obj.GetUID() != "" {
		return apierrors.NewConflict(p.groupResource(), req.Name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", obj.GetUID()))
	}
	if req.Name == "" {
		return nil
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(req.Namespace)
	}
	if obj.GetNamespace() != req.Namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if obj.GetName() == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", req.Name))
	}
	if obj.GetName() != req.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), req.Name))
	}
	return nil
}

func (p *Patcher) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: p.kind.GVK.Group, Resource: p.kind.Resource}
}

// copyOf returns a deep copy that bears the kind's GVK, which typed objects of a store may lack.
func (p *Patcher) copyOf(obj runtime.Object) runtime.Object {
	obj = obj.DeepCopyObject()
	obj.GetObjectKind().SetGroupVersionKind(p.kind.GVK)
	return obj
}

// invalidPatch is the real server's answer to a patch whose result is no object of the kind. It names neither kind
// nor object.
func invalidPatch(value, detail string) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), value, detail)})
}

func unsupportedMediaType(accepted []string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusUnsupportedMediaType,
		Reason:  metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " + strings.Join(accepted, ", "),
	}}
}

// statusError gives an error of a library the shape in which the real server reports it: code 500, without a reason.
func statusError(err error) error {
	if status, ok := err.(apierrors.APIStatus); ok {
		return &apierrors.StatusError{ErrStatus: status.Status()}
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Message: err.Error(),
	}}
}
