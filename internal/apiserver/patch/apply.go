package patch

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/yaml"
)

// apply merges an applied configuration. If another manager owns a field with another value, the answer is a 409 that
// names it, unless forced. Fields that this manager applied before and leaves out now are removed.
func (p *Patcher) apply(manager *managedfields.FieldManager, live runtime.Object, req Request) (runtime.Object, []string, error) {
	v := validationOf(req.FieldValidation)
	config := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal(req.Body, &config.Object); err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	out, err := manager.Apply(live, config, req.FieldManager, req.Force != nil && *req.Force)
	if err != nil {
		return nil, nil, err
	}
	var found []error
	if v.looks() {
		if err := yaml.UnmarshalStrict(req.Body, &map[string]any{}); err != nil {
			if v.strict() {
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
			}
			found = append(found, err)
		}
	}
	if u, ok := out.(*unstructured.Unstructured); ok {
		dropped, err := p.normalize(u)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, dropped...)
	}
	return out, v.warnings(found), nil
}
