package patch_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/internal/apiserver/patch"
)

// Two managers apply parts of one ConfigMap. The second may not change what the first owns, unless by force.
func Example() {
	p := patch.New(patch.Kind{
		GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Resource: "configmaps",
		New: func() runtime.Object { return &corev1.ConfigMap{} },
	})
	apply := func(current runtime.Object, manager, data string, force bool) (runtime.Object, error) {
		out, _, err := p.Patch(current, patch.Request{
			Type: types.ApplyYAMLPatchType, FieldManager: manager, Force: &force, Name: "settings", Namespace: "shop",
			Body: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: " + data),
		})
		if err == nil {
			out.(*corev1.ConfigMap).UID = "1" // a store would set it
			fmt.Println(manager, out.(*corev1.ConfigMap).Data)
		}
		return out, err
	}
	obj, _ := apply(nil, "alice", `{color: red, size: "1"}`, false)
	_, err := apply(obj, "bob", `{color: green, shape: round}`, false)
	fmt.Println(err)
	obj, _ = apply(obj, "bob", `{color: green, shape: round}`, true)
	_, _ = apply(obj, "alice", `{}`, false)
	// Output:
	// alice map[color:red size:1]
	// Apply failed with 1 conflict: conflict with "alice": .data.color
	// bob map[color:green shape:round size:1]
	// alice map[color:green shape:round]
}
