package apiserver

import (
	"fmt"
	"math"
	"net/http"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"glasswatch/internal/apiserver/patch"
	"glasswatch/internal/apiserver/resource"
)

var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// scales applies bodies to Scales.
var scales = patch.New(patch.Kind{GVK: scaleKind, Resource: "scales", New: func() runtime.Object { return &autoscalingv1.Scale{} }})

// scale answers for the scale subresource of a custom resource: a view of three of the object's fields.
func (r *request) scale(w http.ResponseWriter) error {
	var obj resource.Object
	var err error
	switch r.verb {
	case "get":
		obj, err = r.current()
	case "update":
		obj, err = r.updateScale()
	default:
		obj, err = r.patchScale()
	}
	if err != nil {
		return err
	}
	scale, found, err := r.scaleOf(obj)
	if err == nil && !found {
		err = apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", r.Custom.Scale.SpecReplicasPath))
	}
	if err != nil {
		return err
	}
	return writeEncoded(w, r.http, r.format, http.StatusOK, scale)
}

func (r *request) updateScale() (resource.Object, error) {
	opts, err := r.updateOptions()
	if err != nil {
		return nil, err
	}
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	asked, warnings, err := scales.Decode(body, r.http.Header.Get("Content-Type"), opts.FieldValidation)
	if err != nil {
		return nil, err
	}
	r.warn(warnings)
	if err := r.checkName(asked.(resource.Object)); err != nil {
		return nil, err
	}
	return r.modifyScale(writeOptions{patch.ManagerName(opts.FieldManager, r.http.UserAgent()), len(opts.DryRun) > 0},
		func(runtime.Object) (runtime.Object, error) { return asked, nil })
}

func (r *request) patchScale() (resource.Object, error) {
	req, err := r.patchRequest()
	if err != nil {
		return nil, err
	}
	return r.modifyScale(writeOptions{patch.ManagerName(req.FieldManager, req.UserAgent), len(req.DryRun) > 0},
		func(scale runtime.Object) (runtime.Object, error) {
			out, warnings, err := scales.Patch(scale, req)
			r.warn(warnings)
			return out, err
		})
}

func (r *request) modifyScale(opts writeOptions, change func(runtime.Object) (runtime.Object, error)) (resource.Object, error) {
	const unset = math.MinInt32
	return r.modify(opts, func(current resource.Object) (resource.Object, error) {
		scale, found, err := r.scaleOf(current)
		if err != nil {
			return nil, err
		}
		if !found {
			scale.Spec.Replicas = unset
		}
		changed, err := change(scale)
		if err != nil {
			return nil, err
		}
		asked := changed.(*autoscalingv1.Scale)
		path := r.Custom.Scale.SpecReplicasPath
		if asked.Spec.Replicas == unset {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", path))
		}
		obj := r.served(current).DeepCopyObject().(*unstructured.Unstructured)
		if asked.ResourceVersion != "" {
			obj.SetResourceVersion(asked.ResourceVersion)
		}
		return obj, unstructured.SetNestedField(obj.Object, int64(asked.Spec.Replicas), splitPath(path)...)
	}, true)
}

// scaleOf is the Scale of a stored object, and whether the object says how many replicas it wants.
func (r *request) scaleOf(stored resource.Object) (*autoscalingv1.Scale, bool, error) {
	obj, paths := r.served(stored).(*unstructured.Unstructured), r.Custom.Scale
	wanted, found, err := unstructured.NestedInt64(obj.Object, splitPath(paths.SpecReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	there, _, err := unstructured.NestedInt64(obj.Object, splitPath(paths.StatusReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	selector, _, err := unstructured.NestedString(obj.Object, splitPath(ptr.Deref(paths.LabelSelectorPath, ""))...)
	if err != nil {
		return nil, false, err
	}
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
			ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp()},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(wanted)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(there), Selector: selector},
	}
	scale.SetGroupVersionKind(scaleKind)
	return scale, found, nil
}

// splitPath splits ".spec.replicas".
func splitPath(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
