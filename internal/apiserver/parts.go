package apiserver

import (
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"glasswatch/internal/apiserver/resource"
)

// The functions of this file handle spec and status of any kind: Go fields of typed objects, map entries of others.

func statusField(obj resource.Object) (reflect.Value, bool) {
	f := reflect.ValueOf(obj).Elem().FieldByName("Status")
	return f, f.IsValid()
}

func clearStatus(obj resource.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		delete(u.Object, "status")
	} else if f, ok := statusField(obj); ok {
		f.SetZero()
	}
}

// copyStatus gives obj the status of from; they share its insides.
func copyStatus(obj, from resource.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if status, ok := from.(*unstructured.Unstructured).Object["status"]; ok {
			u.Object["status"] = status
		} else {
			delete(u.Object, "status")
		}
	} else if f, ok := statusField(obj); ok {
		old, _ := statusField(from)
		f.Set(old)
	}
}

// withStatusOf is live with the status of obj and, unless the resource is custom, with its metadata.
func withStatusOf(live, obj resource.Object, custom bool) resource.Object {
	out := live.DeepCopyObject().(resource.Object)
	copyStatus(out, obj)
	out.SetResourceVersion(obj.GetResourceVersion())
	out.SetManagedFields(obj.GetManagedFields())
	if !custom {
		out.SetLabels(obj.GetLabels())
		out.SetAnnotations(obj.GetAnnotations())
		out.SetFinalizers(obj.GetFinalizers())
		out.SetOwnerReferences(obj.GetOwnerReferences())
	}
	return out
}

// withSpecOf is live with the spec of obj.
func withSpecOf(live, obj resource.Object) resource.Object {
	out := live.DeepCopyObject().(resource.Object)
	from := reflect.ValueOf(obj).Elem().FieldByName("Spec")
	if to := reflect.ValueOf(out).Elem().FieldByName("Spec"); to.IsValid() && from.IsValid() {
		to.Set(from)
	}
	return out
}

// specChanged compares everything but metadata, of which only a Deployment's annotations count: its ReplicaSets get them. A
// status with a subresource of its own is the same in both by now.
func specChanged(a, b resource.Object) bool {
	if _, ok := a.(*appsv1.Deployment); ok && !equality.Semantic.DeepEqual(a.GetAnnotations(), b.GetAnnotations()) {
		return true
	}
	return !equality.Semantic.DeepEqual(withoutMeta(a), withoutMeta(b))
}

func withoutMeta(obj resource.Object) any {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content := maps.Clone(u.Object)
		delete(content, "metadata")
		return content
	}
	shallow := reflect.New(reflect.TypeOf(obj).Elem()).Elem()
	shallow.Set(reflect.ValueOf(obj).Elem())
	for _, name := range []string{"TypeMeta", "ObjectMeta"} {
		shallow.FieldByName(name).SetZero()
	}
	return shallow.Interface()
}

// now is the current time in the precision of the wire.
func now() metav1.Time { return metav1.Now().Rfc3339Copy() }

// wholeNumbers turns, in place, floats without a fraction into integers, as encoding and decoding would. Applied
// configurations are decoded with floats only, and 3.0 in place of 3 is not a change.
func wholeNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = wholeNumbers(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = wholeNumbers(inner)
		}
	case float64:
		if n := int64(v); float64(n) == v && v > -1<<53 && v < 1<<53 {
			return n
		}
	}
	return value
}
