package controllertest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/resource"
)

// View is what the server holds at one moment, without Events, Leases and definitions. The objects must not be changed.
type View struct{ objects []*unstructured.Unstructured }

// All returns all objects.
func (v View) All() []*unstructured.Unstructured { return v.objects }

// Kind returns the objects of a kind, such as "Service".
func (v View) Kind(kind string) (found []*unstructured.Unstructured) {
	for _, obj := range v.objects {
		if obj.GetKind() == kind {
			found = append(found, obj)
		}
	}
	return found
}

// Get returns an object, or nil. The namespace of an object without one is empty.
func (v View) Get(kind, namespace, name string) *unstructured.Unstructured {
	for _, obj := range v.objects {
		if obj.GetKind() == kind && obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj
		}
	}
	return nil
}

// viewer makes Views. Stored objects never change, so each is converted once.
type viewer struct {
	server *apiserver.Server
	known  map[resource.Object]*unstructured.Unstructured
}

func (v *viewer) view() View {
	var view View
	known := map[resource.Object]*unstructured.Unstructured{}
	for _, obj := range v.server.Objects() {
		switch obj.GetObjectKind().GroupVersionKind().Kind {
		case "Event", "Lease", "CustomResourceDefinition":
			continue
		}
		converted := v.known[obj]
		if converted == nil {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
			if err != nil {
				panic(err) // an object of the server's own
			}
			converted = &unstructured.Unstructured{Object: content}
		}
		known[obj] = converted
		view.objects = append(view.objects, converted)
	}
	v.known = known
	return view
}
