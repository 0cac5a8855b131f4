package table

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"glasswatch/internal/apiserver/resource"
)

// Options says what a client wants to have in its table.
type Options struct {
	// IncludeObject is the request's parameter of that name: what each row carries of its object. Empty means Metadata.
	IncludeObject metav1.IncludeObjectPolicy
	// NoColumns leaves the column definitions out: those of a watch come with its first event only.
	NoColumns bool
}

// layout is how objects of one kind are printed.
type layout struct {
	columns []metav1.TableColumnDefinition
	// cells returns one cell a column. It is called with objects of the layout's type only.
	cells func(obj resource.Object) []any
}

// Printer prints the objects of one resource.
type Printer struct {
	layout layout
	gvk    schema.GroupVersionKind
}

// For returns the Printer of a resource. It never fails: a column whose JSONPath cannot be parsed stays empty.
func For(info *resource.Info) *Printer {
	p := &Printer{gvk: info.GVK, layout: nameAndAge}
	if info.Custom != nil {
		p.layout = customLayout(info.Custom.Columns)
	} else if l, ok := layouts[info.GVK.GroupKind()]; ok {
		p.layout = l
	}
	return p
}

// Columns returns the column definitions; the slice is shared and must not be changed.
func (p *Printer) Columns() []metav1.TableColumnDefinition { return p.layout.columns }

// Table prints the objects in the order given. list is the metadata of the list they are, or of the one object.
// The rows refer to the objects: encode the table before they change.
func (p *Printer) Table(objs []resource.Object, list metav1.ListMeta, opts Options) *metav1.Table {
	t := &metav1.Table{
		TypeMeta: metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.Group + "/v1", Kind: "Table"},
		ListMeta: list,
		Rows:     make([]metav1.TableRow, 0, len(objs)), // null would not do: kubectl wants a list
	}
	if !opts.NoColumns {
		t.ColumnDefinitions = p.layout.columns
	}
	for _, obj := range objs {
		t.Rows = append(t.Rows, metav1.TableRow{
			Cells:      p.layout.cells(obj),
			Conditions: conditions(obj),
			Object:     runtime.RawExtension{Object: p.included(obj, opts.IncludeObject)},
		})
	}
	return t
}

// included is what a row carries of its object. Typed objects of a store lack the GVK, which a client needs.
func (p *Printer) included(obj resource.Object, policy metav1.IncludeObjectPolicy) runtime.Object {
	switch policy {
	case metav1.IncludeNone:
		return nil
	case metav1.IncludeObject:
		if obj.GetObjectKind().GroupVersionKind() == p.gvk {
			return obj
		}
		out := obj.DeepCopyObject()
		out.GetObjectKind().SetGroupVersionKind(p.gvk)
		return out
	}
	return Metadata(obj)
}

// Metadata returns the metadata of an object as the PartialObjectMetadata that clients may ask for instead of the object.
func Metadata(obj metav1.Object) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.Group + "/v1", Kind: "PartialObjectMetadata"}}
	if in, ok := obj.(metav1.ObjectMetaAccessor); ok {
		if meta, ok := in.GetObjectMeta().(*metav1.ObjectMeta); ok {
			meta.DeepCopyInto(&m.ObjectMeta)
			return m
		}
	}
	m.ObjectMeta = metav1.ObjectMeta{
		Name: obj.GetName(), GenerateName: obj.GetGenerateName(), Namespace: obj.GetNamespace(),
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(),
		CreationTimestamp: obj.GetCreationTimestamp(), DeletionTimestamp: obj.GetDeletionTimestamp(),
		DeletionGracePeriodSeconds: obj.GetDeletionGracePeriodSeconds(), Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(),
		OwnerReferences: obj.GetOwnerReferences(), Finalizers: obj.GetFinalizers(), ManagedFields: obj.GetManagedFields(),
	}
	return m
}

// row types a layout's cell function. A foreign type prints as its name followed by empty cells.
func row[T resource.Object](columns []metav1.TableColumnDefinition, cells func(T) []any) layout {
	return layout{columns: columns, cells: func(obj resource.Object) []any {
		if typed, ok := obj.(T); ok {
			return cells(typed)
		}
		out := make([]any, len(columns))
		out[0] = obj.GetName()
		return out
	}}
}

var (
	metaDocs = metav1.ObjectMeta{}.SwaggerDoc()

	nameColumn    = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: metaDocs["name"]}
	ageColumn     = column("Age", metaDocs["creationTimestamp"])
	createdColumn = metav1.TableColumnDefinition{Name: "Created At", Type: "date", Description: metaDocs["creationTimestamp"]}

	nameAndAge = layout{
		columns: []metav1.TableColumnDefinition{nameColumn, ageColumn},
		cells:   func(obj resource.Object) []any { return []any{obj.GetName(), age(obj)} },
	}
	nameAndCreated = layout{
		columns: []metav1.TableColumnDefinition{nameColumn, createdColumn},
		cells: func(obj resource.Object) []any {
			return []any{obj.GetName(), obj.GetCreationTimestamp().UTC().Format(time.RFC3339)}
		},
	}
)

func column(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
}

func integer(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "integer", Description: description}
}

// wide is a column that kubectl shows with -o wide only.
func wide(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description, Priority: 1}
}

func age(obj metav1.Object) string { return since(obj.GetCreationTimestamp()) }

// since prints how long ago something was: "5m10s", "3d", or "<unknown>" of a time that is not set.
func since(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

func sinceMicro(t metav1.MicroTime) string { return since(metav1.Time(t)) }

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}
