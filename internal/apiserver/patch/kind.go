package patch

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/applyconfigurations"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Kind is what a Patcher must know of one served kind, or of one of its subresources.
type Kind struct {
	GVK      schema.GroupVersionKind
	Resource string // plural name, for error messages

	// Subresource is "" or "status": managers own fields per subresource.
	Subresource string

	// HasStatus says that status is written through its subresource only, so that writers of the main resource never
	// own it.
	HasStatus bool

	// New returns an empty object of the Go type; nil for a custom resource, whose objects are *unstructured.Unstructured.
	New func() runtime.Object

	// Converter knows the schema by which applied configurations merge. Nil means that of client-go for the types it
	// knows, and for all others a deduced one, in which every list is atomic.
	Converter managedfields.TypeConverter

	// Default fills in a decoded or patched object; may be nil.
	Default func(obj runtime.Object)

	// Normalize is for custom resources: it prunes what the schema lacks, fills in the schema's defaults, and names the
	// fields it dropped ("spec.bogus"). May be nil.
	Normalize func(obj *unstructured.Unstructured) (dropped []string, err error)

	// Versions of a custom resource: managers may own fields of each. GVK's own need not be listed.
	Versions []string
}

// Patcher applies request bodies to objects of one Kind. See the package's documentation.
type Patcher struct {
	kind Kind

	// The manager is built on first use, because the schema that client-go carries takes a tenth of a second to parse.
	manager func() (*managedfields.FieldManager, error)
}

// New returns a Patcher for a kind. It does no work before it is used.
func New(kind Kind) *Patcher {
	p := &Patcher{kind: kind}
	p.manager = sync.OnceValues(p.newManager)
	return p
}

// Custom says that the kind is a custom resource.
func (p *Patcher) Custom() bool { return p.kind.New == nil }

// builtins are client-go's types alone. Programs add their own to the scheme that client-go shares, of which its schema
// knows nothing.
var builtins = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(s))
	return s
})

// builtinConverter is client-go's schema of the built-in types, parsed once a process.
var builtinConverter = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(builtins())
})

// BuiltinConverter returns the merge schema of the built-in types. The first call parses it (about 100 ms).
func BuiltinConverter() managedfields.TypeConverter { return builtinConverter() }

func (p *Patcher) newManager() (*managedfields.FieldManager, error) {
	k := p.kind
	if k.New == nil {
		tc := k.Converter
		if tc == nil {
			tc = managedfields.NewDeducedTypeConverter()
		}
		return managedfields.NewDefaultCRDFieldManager(tc, objects{k}, objects{k}, objects{k}, k.GVK, k.GVK.GroupVersion(), k.Subresource, k.resetFields())
	}
	tc := k.Converter
	if tc == nil {
		tc = managedfields.NewDeducedTypeConverter()
		if builtins().Recognizes(k.GVK) {
			tc = BuiltinConverter()
		}
	}
	return managedfields.NewDefaultFieldManager(tc, objects{k}, objects{k}, objects{k}, k.GVK, k.GVK.GroupVersion(), k.Subresource, k.resetFields())
}

// resetFields names what a write through this endpoint cannot change, and therefore never owns.
func (k Kind) resetFields() map[fieldpath.APIVersion]fieldpath.Filter {
	version := fieldpath.APIVersion(k.GVK.GroupVersion().String())
	var filter fieldpath.Filter
	switch {
	case k.Subresource == "status" && k.New == nil:
		filter = fieldpath.NewIncludeMatcherFilter(fieldpath.MakePrefixMatcherOrDie("status"))
	case k.Subresource == "status":
		filter = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("spec")))
	case k.HasStatus:
		filter = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
	default:
		return nil
	}
	return map[fieldpath.APIVersion]fieldpath.Filter{version: filter}
}

// objects gives the managedfields package the converter, defaulter and creater of one kind. Converting sets the GVK in
// place: the callers in this package work on copies.
type objects struct{ kind Kind }

func (o objects) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	if gvk != o.kind.GVK {
		return nil, runtime.NewNotRegisteredGVKErrForTarget("apiserver", gvk, nil)
	}
	return o.kind.empty(), nil
}

func (k Kind) empty() runtime.Object {
	var obj runtime.Object = &unstructured.Unstructured{}
	if k.New != nil {
		obj = k.New()
	}
	obj.GetObjectKind().SetGroupVersionKind(k.GVK)
	return obj
}

func (o objects) Default(obj runtime.Object) {
	if o.kind.Default != nil {
		o.kind.Default(obj)
	}
}

func (o objects) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	gvk, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{o.kind.GVK})
	if !ok || !o.converts(gvk) {
		return nil, runtime.NewNotRegisteredErrForTarget("apiserver", nil, target)
	}
	u, isUnstructured := in.(*unstructured.Unstructured)
	switch {
	case o.kind.New == nil && isUnstructured && u.GroupVersionKind() != gvk:
		in = u.DeepCopy()
	case o.kind.New != nil && isUnstructured:
		in = o.kind.New()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, in); err != nil {
			return nil, err
		}
	}
	in.GetObjectKind().SetGroupVersionKind(gvk)
	return in, nil
}

func (o objects) converts(gvk schema.GroupVersionKind) bool {
	if gvk == o.kind.GVK {
		return true
	}
	for _, v := range o.kind.Versions {
		if gvk == (schema.GroupVersionKind{Group: o.kind.GVK.Group, Version: v, Kind: o.kind.GVK.Kind}) {
			return true
		}
	}
	return false
}

// Convert and ConvertFieldLabel complete runtime.ObjectConvertor; the managedfields package calls neither.
func (o objects) Convert(in, out, context any) error {
	return fmt.Errorf("cannot convert %T into %T", in, out)
}

func (o objects) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	return "", "", fmt.Errorf("field labels of %v are not converted", gvk)
}
