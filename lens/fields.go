package lens

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxFields bounds what is told of one change.
const maxFields = 8

// serverSets are fields that change with each write.
var serverSets = []string{".metadata.resourceVersion", ".metadata.managedFields", ".metadata.generation"}

// changedFields names the fields in which two objects differ, without their values. A list is one field.
func changedFields(before, after any) []string {
	from, ok := asMap(before)
	if !ok {
		return nil
	}
	to, ok := asMap(after)
	if !ok {
		return nil
	}
	fields := differing("", from, to, nil)
	slices.Sort(fields)
	return fields[:min(len(fields), maxFields)]
}

func differing(path string, from, to any, fields []string) []string {
	if slices.Contains(serverSets, path) || reflect.DeepEqual(from, to) {
		return fields
	}
	a, isMap := from.(map[string]any)
	b, areMaps := to.(map[string]any)
	if !isMap || !areMaps {
		return append(fields, path)
	}
	for name := range a {
		fields = differing(path+"."+name, a[name], b[name], fields)
	}
	for name := range b {
		if _, both := a[name]; !both {
			fields = differing(path+"."+name, nil, b[name], fields)
		}
	}
	return fields
}

func asMap(obj any) (map[string]any, bool) {
	if obj == nil {
		return nil, false
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object, true
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	return fields, err == nil
}
