package patch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"glasswatch/internal/apiserver/resource"
)

// ForInfo returns the Patcher of a resource (subresource "") or of its "status". defaults fills in built-in objects and
// may be nil. Custom resources are pruned and defaulted by their definition.
func ForInfo(info *resource.Info, subresource string, defaults func(obj runtime.Object)) *Patcher {
	kind := Kind{GVK: info.GVK, Resource: info.GVR.Resource, Subresource: subresource, HasStatus: info.Status}
	if info.Custom == nil {
		kind.New = func() runtime.Object { return info.New() }
		kind.Default = defaults
		return New(kind)
	}
	kind.Converter, kind.Versions = info.Custom.Converter, info.Custom.Versions
	kind.Normalize = func(obj *unstructured.Unstructured) ([]string, error) {
		dropped := info.Custom.Prune(obj)
		info.Custom.Default(obj)
		return dropped, nil
	}
	return New(kind)
}
