package resource

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object is what is stored: a typed object of Scheme, or *unstructured.Unstructured for a custom resource. Stored
// objects carry their apiVersion and kind. An object in the store is never modified; to change one, make a
// DeepCopyObject first.
type Object interface {
	metav1.Object
	runtime.Object
}

// Info describes one resource in one version.
type Info struct {
	// GVR is how the URL names the resource, for example {"apps", "v1", "deployments"}. The core group is "".
	GVR schema.GroupVersionResource
	// GVK is the kind of one object; GVK.GroupVersion() equals GVR.GroupVersion().
	GVK schema.GroupVersionKind
	// ListKind is the kind of a list of them, for example "DeploymentList".
	ListKind string
	// Singular is the lower-case singular name, for example "deployment".
	Singular string
	// ShortNames are kubectl's abbreviations ("svc"); may be nil.
	ShortNames []string
	// Categories are groups of resources ("all"); may be nil.
	Categories []string
	// Namespaced tells whether objects live in a namespace.
	Namespaced bool
	// Status tells whether there is a status subresource. If so, writes to the resource leave .status alone and
	// writes to /status change nothing but .status (and metadata that the server owns).
	Status bool
	// Generation tells whether metadata.generation is counted: 1 at creation, one more for each change of anything
	// besides metadata and status.
	Generation bool
	// Custom is nil for built-in resources.
	Custom *Custom

	// New returns an empty object: typed for built-in resources, *unstructured.Unstructured with apiVersion and kind
	// set for custom ones. Typed objects come without apiVersion and kind (as the client-go scheme makes them): GVK has them.
	New func() Object
	// NewList returns an empty list: typed for built-in resources, *unstructured.UnstructuredList with apiVersion and
	// kind set for custom ones.
	NewList func() runtime.Object
}

// Custom is what is known of a custom resource in one version, all of it derived from its CustomResourceDefinition.
// None of the functions is nil.
type Custom struct {
	// Schema is the OpenAPI v3 schema of the version; never nil (without a schema: type object that preserves unknown fields).
	Schema *apiextensionsv1.JSONSchemaProps
	// Columns are the additional printer columns; empty means that Age alone is printed beside Name.
	Columns []apiextensionsv1.CustomResourceColumnDefinition
	// Default fills in, in place, the defaults that the schema gives.
	Default func(obj *unstructured.Unstructured)
	// Prune removes, in place, the fields that the schema does not know and returns their paths, such as
	// "spec.ports[0].nam", sorted. Nulls go where the schema allows none and has no default. apiVersion, kind and metadata
	// stay.
	Prune func(obj *unstructured.Unstructured) []string
	// Validate checks obj against the schema. old is the stored version on an update, nil on a creation.
	Validate func(obj, old *unstructured.Unstructured) field.ErrorList
	// Versions are the names of all versions. Objects are converted by setting their apiVersion, and pruned.
	Versions []string
	// Converter knows how applied configurations merge, in every version. nil: every list is atomic.
	Converter managedfields.TypeConverter
	// Scale says which fields the scale subresource shows; nil if there is none.
	Scale *apiextensionsv1.CustomResourceSubresourceScale
	// Fields are those that field selectors may name, besides name and namespace, such as "spec.color".
	Fields []string
	// Deprecation is the warning about this version, "" if it is not deprecated.
	Deprecation string
	// UID is that of the CustomResourceDefinition. It differs for another definition of the same name.
	UID string
}

// APIVersion is "v1" or "apps/v1".
func (i *Info) APIVersion() string { return i.GVK.GroupVersion().String() }

// GroupResource is GVR without the version.
func (i *Info) GroupResource() schema.GroupResource { return i.GVR.GroupResource() }

// NewUnstructured makes the New and NewList functions of a custom resource.
func NewUnstructured(gvk schema.GroupVersionKind, listKind string) (newObj func() Object, newList func() runtime.Object) {
	newObj = func() Object {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u
	}
	newList = func() runtime.Object {
		l := &unstructured.UnstructuredList{}
		l.SetGroupVersionKind(gvk.GroupVersion().WithKind(listKind))
		return l
	}
	return newObj, newList
}
