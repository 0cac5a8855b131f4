package patch

import (
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
)

// maxOperations is how many operations one JSON patch may have, as in the real server.
const maxOperations = 10000

// patchBody applies every type of patch except server-side apply.
func (p *Patcher) patchBody(live runtime.Object, req Request) (runtime.Object, []string, error) {
	v := validationOf(req.FieldValidation)
	if req.Type == types.StrategicMergePatchType {
		return p.strategic(live, req.Body, v)
	}

	current, err := encodeJSON(live)
	if err != nil {
		return nil, nil, err
	}
	var patched []byte
	var found []error
	if req.Type == types.JSONPatchType {
		patched, found, err = jsonPatch(current, req.Body, v)
	} else {
		patched, found, err = mergePatch(current, req.Body, v)
	}
	if err != nil {
		return nil, nil, err
	}
	out, unknown, err := p.decodeJSON(patched, v)
	if err != nil {
		return nil, nil, invalidPatch(string(patched), err.Error())
	}
	found = append(found, unknown...)
	if v.strict() && len(found) > 0 {
		return nil, nil, invalidPatch(string(patched), runtime.NewStrictDecodingError(found).Error())
	}
	return out, v.warnings(found), nil
}

func jsonPatch(current, body []byte, v validation) ([]byte, []error, error) {
	var found []error
	if v.looks() {
		var ops []struct {
			Op    string `json:"op"`
			Path  string `json:"path"`
			From  string `json:"from"`
			Value any    `json:"value"`
		}
		errs, err := kjson.UnmarshalStrict(body, &ops)
		if err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		for _, e := range errs {
			found = append(found, fmt.Errorf("json patch %w", e))
		}
	}
	ops, err := jsonpatch.DecodePatch(body)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(ops) > maxOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(ops)))
	}
	patched, err := ops.Apply(current)
	if err != nil {
		return nil, nil, unprocessable(err)
	}
	return patched, found, nil
}

func mergePatch(current, body []byte, v validation) ([]byte, []error, error) {
	var found []error
	if v.looks() {
		errs, err := kjson.UnmarshalStrict(body, &map[string]any{})
		if err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		found = errs
	}
	patched, err := jsonpatch.MergePatch(current, body)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	return patched, found, err
}

// strategic merges by the patchStrategy tags of the Go type.
func (p *Patcher) strategic(live runtime.Object, body []byte, v validation) (runtime.Object, []string, error) {
	current, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, nil, err
	}
	change := map[string]any{}
	var found []error
	if v.looks() {
		found, err = kjson.UnmarshalStrict(body, &change)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(body, &change)
	}
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(current, change, p.kind.New())
	if err != nil {
		return nil, nil, strategicError(err)
	}
	out := p.kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, out, v.looks()); err != nil {
		unknown, ok := runtime.AsStrictDecodingError(err)
		if !ok {
			return nil, nil, invalidPatch(shown(change), err.Error())
		}
		found = append(found, unknown.Errors()...)
	}
	if v.strict() && len(found) > 0 {
		return nil, nil, invalidPatch(shown(change), runtime.NewStrictDecodingError(found).Error())
	}
	if p.kind.Default != nil {
		p.kind.Default(out)
	}
	return out, v.warnings(found), nil
}

// shown is how the real server names a patch in an error: as the merge has left it, which takes lists and directives away.
func shown(change map[string]any) string { return fmt.Sprintf("%+v", change) }

func strategicError(err error) error {
	switch {
	case errors.Is(err, mergepatch.ErrBadJSONDoc),
		errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList),
		errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys),
		errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList),
		errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
		return apierrors.NewBadRequest(err.Error())
	case errors.Is(err, mergepatch.ErrNoListOfLists), errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys):
		return unprocessable(err)
	}
	return err
}

func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

func encodeJSON(obj runtime.Object) ([]byte, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return utiljson.Marshal(u.Object)
	}
	return utiljson.Marshal(obj)
}

// validation is the fieldValidation of a request, never empty.
type validation string

// validationOf applies the server's default, which is to warn.
func validationOf(parameter string) validation {
	if parameter == "" {
		return metav1.FieldValidationWarn
	}
	return validation(parameter)
}

func (v validation) strict() bool { return v == metav1.FieldValidationStrict }

// looks reports whether unknown and duplicate fields are searched for at all.
func (v validation) looks() bool { return v != metav1.FieldValidationIgnore }

func (v validation) warnings(found []error) []string {
	if v != metav1.FieldValidationWarn {
		return nil
	}
	var out []string
	for _, err := range found {
		out = append(out, err.Error())
	}
	return out
}
