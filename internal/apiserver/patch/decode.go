package patch

import (
	"errors"
	"fmt"
	"mime"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Decode reads the body of a create or an update. contentType is application/json (also if empty) or application/yaml;
// the caller decodes protobuf, which can hold no unknown fields. The result is defaulted and, for custom resources,
// pruned. A body without apiVersion and kind is taken for one of the kind.
func (p *Patcher) Decode(body []byte, contentType, fieldValidation string) (runtime.Object, []string, error) {
	v := validationOf(fieldValidation)
	var found []error
	switch mediaType, _, _ := mime.ParseMediaType(contentType); mediaType {
	case "", runtime.ContentTypeJSON:
	case runtime.ContentTypeYAML:
		if v.looks() {
			if err := yaml.UnmarshalStrict(body, &map[string]any{}); err != nil {
				found = append(found, err)
			}
		}
		converted, err := yaml.YAMLToJSON(body)
		if err != nil {
			return nil, nil, p.unrecognized(err, body)
		}
		body = converted
	default:
		return nil, nil, unsupportedMediaType([]string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf})
	}

	sent, err := p.sentKind(body)
	if err != nil {
		return nil, nil, err
	}
	out, unknown, err := p.decodeJSON(body, v)
	if err != nil {
		return nil, nil, p.cannotBeHandled(sent, err)
	}
	found = append(found, unknown...)
	if v.strict() && len(found) > 0 {
		return nil, nil, p.cannotBeHandled(sent, runtime.NewStrictDecodingError(found))
	}
	return out, v.warnings(found), nil
}

// sentKind finds what the body says it is, and refuses another kind than ours. Of a built-in kind a body need not say it.
func (p *Patcher) sentKind(body []byte) (schema.GroupVersionKind, error) {
	sent := metav1.TypeMeta{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &sent); err != nil {
		return schema.GroupVersionKind{}, p.unrecognized(fmt.Errorf("couldn't get version/kind; json parse error: %w", err), body)
	}
	if p.Custom() {
		return p.sentCustomKind(sent, body)
	}
	gvk, want := sent.GroupVersionKind(), p.kind.GVK
	if gvk.Kind == "" {
		gvk.Kind = want.Kind
	}
	if sent.APIVersion == "" {
		gvk.Group, gvk.Version = want.Group, want.Version
	}
	if gvk != want {
		return gvk, p.cannotBeHandled(gvk, fmt.Errorf("the request is for %s in %s, the body holds %s in %s",
			want.Kind, want.GroupVersion(), gvk.Kind, gvk.GroupVersion()))
	}
	return gvk, nil
}

func (p *Patcher) sentCustomKind(sent metav1.TypeMeta, body []byte) (schema.GroupVersionKind, error) {
	gvk, want := sent.GroupVersionKind(), p.kind.GVK
	switch {
	case gvk.Kind == "":
		//lint:ignore ST1005 these are the words of a real server
		return gvk, p.unrecognized(fmt.Errorf("Object 'Kind' is missing in '%s'", body), body)
	case gvk.GroupVersion() != want.GroupVersion():
		return gvk, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)",
			sent.APIVersion, want.GroupVersion()))
	case gvk.Kind != want.Kind:
		named := metav1.PartialObjectMetadata{}
		_ = kjson.UnmarshalCaseSensitivePreserveInts(body, &named) // without a name the error says as much
		return gvk, apierrors.NewInvalid(gvk.GroupKind(), named.Name, field.ErrorList{
			field.Invalid(field.NewPath("kind"), gvk.Kind, "must be "+want.Kind)})
	}
	return gvk, nil
}

func (p *Patcher) cannotBeHandled(sent schema.GroupVersionKind, err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", sent.Kind, sent.Version, p.kind.GVK.Kind, err))
}

func (p *Patcher) unrecognized(err error, body []byte) error {
	const shown = 30 // bytes of the body that the message repeats
	if len(body) > shown {
		body = append(append([]byte{}, body[:shown]...), " ..."...)
	}
	if len(body) == 0 {
		body = []byte("<empty>")
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", p.kind.GVK.Kind, err, body))
}

// decodeJSON reads an object of the kind. found are unknown and duplicate fields, if they are looked for.
func (p *Patcher) decodeJSON(body []byte, v validation) (obj runtime.Object, found []error, err error) {
	if p.Custom() {
		return p.decodeCustom(body, v)
	}
	obj = p.kind.New()
	if v.looks() {
		found, err = kjson.UnmarshalStrict(body, obj)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(body, obj)
	}
	if err != nil {
		return nil, nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(p.kind.GVK)
	if p.kind.Default != nil {
		p.kind.Default(obj)
	}
	return obj, found, nil
}

func (p *Patcher) decodeCustom(body []byte, v validation) (runtime.Object, []error, error) {
	u := &unstructured.Unstructured{}
	var found []error
	var err error
	if v.looks() {
		found, err = kjson.UnmarshalStrict(body, &u.Object)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(body, &u.Object)
	}
	if err != nil {
		return nil, nil, err
	}
	if u.Object == nil {
		return nil, nil, errors.New("the body holds null")
	}
	dropped, err := p.normalize(u)
	if err != nil {
		return nil, nil, err
	}
	if v.looks() {
		found = append(found, dropped...)
	}
	return u, found, nil
}

// normalize makes an unstructured object one of the kind: metadata of the right shape, pruned and defaulted.
func (p *Patcher) normalize(u *unstructured.Unstructured) (dropped []error, err error) {
	u.SetGroupVersionKind(p.kind.GVK)
	if raw, ok := u.Object["metadata"]; ok {
		read := metav1.PartialObjectMetadata{}
		err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(map[string]any{"metadata": raw}, &read, true)
		if unknown, ok := runtime.AsStrictDecodingError(err); ok {
			dropped = unknown.Errors()
		} else if err != nil {
			return nil, err
		}
		written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&read)
		if err != nil {
			return nil, err
		}
		u.Object["metadata"] = written["metadata"]
	}
	if p.kind.Normalize == nil {
		return dropped, nil
	}
	paths, err := p.kind.Normalize(u)
	for _, path := range paths {
		dropped = append(dropped, fmt.Errorf("unknown field %q", path))
	}
	return dropped, err
}
