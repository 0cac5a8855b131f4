package factory

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"

	"glasswatch/listwatch"
)

// clusterScoped are the built-in resources that belong to no namespace, in any group and version. A scheme does not
// say.
var clusterScoped = sets.New(strings.Fields(`
	certificatesigningrequests clusterrolebindings clusterroles clustertrustbundles componentstatuses csidrivers
	csinodes deviceclasses devicetaintrules flowschemas ingressclasses ipaddresses mutatingadmissionpolicies
	mutatingadmissionpolicybindings mutatingwebhookconfigurations namespaces nodes persistentvolumes priorityclasses
	prioritylevelconfigurations resourcepoolstatusrequests resourceslices runtimeclasses selfsubjectaccessreviews
	selfsubjectreviews selfsubjectrulesreviews servicecidrs storageclasses storageversionmigrations storageversions
	subjectaccessreviews tokenreviews validatingadmissionpolicies validatingadmissionpolicybindings
	validatingwebhookconfigurations volumeattachments volumeattributesclasses`)...)

// builtin returns the Go type of a built-in resource, such as that of a *corev1.Service.
func builtin(gvr schema.GroupVersionResource) (goType reflect.Type, ok bool) {
	for kind, goType := range scheme.Scheme.KnownTypes(gvr.GroupVersion()) {
		pointer := reflect.PointerTo(goType)
		if plural(gvr.GroupVersion().WithKind(kind)) == gvr && pointer.Implements(reflect.TypeFor[listwatch.Object]()) {
			return pointer, true
		}
	}
	return nil, false
}

// plural returns the resource of a kind, by the rules of the English language.
func plural(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	gvr, _ := meta.UnsafeGuessKindToResource(gvk)
	return gvr
}

// resourceOf finds the resource of T, and its scope: a built-in one, or what the factory's scheme and mapper say.
func resourceOf[T listwatch.Object](f *Factory) (gvr schema.GroupVersionResource, namespaced bool, err error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		return gvr, false, fmt.Errorf("%s is no pointer to an object", t)
	}
	obj := reflect.New(t.Elem()).Interface().(runtime.Object)
	switch obj.(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		return gvr, false, fmt.Errorf("%s says nothing of a resource: ask with ForResource or ForMetadata", t)
	}
	if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil {
		gvr = plural(kinds[0])
		return gvr, !clusterScoped.Has(gvr.Resource), nil
	}
	kinds, _, err := cmp.Or(f.opts.Scheme, scheme.Scheme).ObjectKinds(obj)
	if err != nil {
		return gvr, false, fmt.Errorf("resource of %s: %w", t, err)
	}
	if f.opts.RESTMapper == nil {
		return plural(kinds[0]), true, nil
	}
	mapping, err := f.opts.RESTMapper.RESTMapping(kinds[0].GroupKind(), kinds[0].Version)
	if err != nil {
		return gvr, false, fmt.Errorf("resource of %s: %w", t, err)
	}
	return mapping.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// scopeOf reports whether a resource is namespaced, as far as the factory can know. The mapper may ask a server: no
// lock may be held.
func (f *Factory) scopeOf(gvr schema.GroupVersionResource) bool {
	if _, ok := builtin(gvr); ok {
		return !clusterScoped.Has(gvr.Resource)
	}
	if f.opts.RESTMapper == nil {
		return true
	}
	gvk, err := f.opts.RESTMapper.KindFor(gvr)
	if err != nil {
		return true
	}
	mapping, err := f.opts.RESTMapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	return err != nil || mapping.Scope.Name() == meta.RESTScopeNameNamespace
}
