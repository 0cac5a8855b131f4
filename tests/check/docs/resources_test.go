package docs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	extensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

// Resource is a row of the table. Package and Call are empty where the pinned modules have no Go type or no client.
type Resource struct {
	metav1.APIResource
	GV      schema.GroupVersion
	Package string // import path of the Go type; its name is the kind
	Call    string // of a clientset
	URL     string // of all, or of those in the namespace "default"
}

// row is the resource's in the table. inMemory says whether the API server in memory has it.
func (r Resource) row(inMemory bool) string {
	names := strings.Join(append([]string{r.Name}, r.ShortNames...), "`, `")
	goType, call, mark := "none in these modules", "dynamic client", ""
	if r.Package != "" {
		goType = "`" + r.Package + "`"
	}
	if r.Call != "" {
		call = "`" + r.Call + "`"
	}
	if inMemory {
		mark = "✓"
	}
	return fmt.Sprintf("| `%s` | %s | `%s` | %s | %s | `%s` | %s |\n", names, r.Kind, r.GV, goType, call, r.URL, mark)
}

// Resources are those that `kubectl api-resources` lists: one version each, the preferred one, and no subresources.
func Resources(client discovery.DiscoveryInterface) ([]Resource, error) {
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	calls := clientCalls()
	var all []Resource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			row := Resource{APIResource: r, GV: gv, URL: URL(gv, r)}
			if decoded := goType(gv.WithKind(r.Kind)); decoded != nil {
				row.Package, row.Call = decoded.PkgPath(), calls[decoded]
			}
			all = append(all, row)
		}
	}
	slices.SortFunc(all, func(a, b Resource) int {
		return strings.Compare(a.GV.Group+"/"+a.Name, b.GV.Group+"/"+b.Name)
	})
	return all, nil
}

// URL puts the parts of a resource's address together.
func URL(gv schema.GroupVersion, r metav1.APIResource) string {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	if r.Namespaced {
		path += "/namespaces/default"
	}
	return path + "/" + r.Name
}

// goType is the type that a kind is decoded into, or nil.
func goType(gvk schema.GroupVersionKind) reflect.Type {
	for _, types := range []map[schema.GroupVersionKind]reflect.Type{scheme.Scheme.AllKnownTypes(), extensionsscheme.Scheme.AllKnownTypes()} {
		if t, ok := types[gvk]; ok {
			return t
		}
	}
	return nil
}

// clientCalls finds for each Go type how the clientsets reach it: CoreV1().Pods(namespace) for corev1.Pod.
func clientCalls() map[reflect.Type]string {
	calls := map[reflect.Type]string{}
	for _, clientset := range []reflect.Type{reflect.TypeFor[kubernetes.Interface](), reflect.TypeFor[apiextensions.Interface]()} {
		for group := range clientset.Methods() {
			if group.Type.NumOut() != 1 || group.Type.Out(0).Kind() != reflect.Interface {
				continue
			}
			for getter := range group.Type.Out(0).Methods() {
				if object := written(getter.Type); object != nil {
					argument := strings.Repeat("namespace", getter.Type.NumIn())
					calls[object] = fmt.Sprintf("%s().%s(%s)", group.Name, getter.Name, argument)
				}
			}
		}
	}
	return calls
}

// written is the type that the client of a kind creates, which it returns as a pointer, or nil for other methods.
func written(getter reflect.Type) reflect.Type {
	if getter.NumOut() != 1 || getter.Out(0).Kind() != reflect.Interface || getter.NumIn() > 1 {
		return nil
	}
	for _, name := range []string{"Create", "Get"} {
		if method, ok := getter.Out(0).MethodByName(name); ok && method.Type.NumOut() == 2 && method.Type.Out(0).Kind() == reflect.Pointer {
			return method.Type.Out(0).Elem()
		}
	}
	return nil
}
