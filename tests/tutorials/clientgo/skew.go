package clientgo

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"glasswatch/internal/custom"
	"glasswatch/tests/tutorials/play"
)

const gardens = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gardens.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gardens, kind: Garden}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}, color: {type: string}}}
`

// olderGarden is the type from before there were colors.
type olderGarden struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size int64 `json:"size"`
	} `json:"spec"`
}

// Skew is a program that is older than the server, and one that is newer. client-go v0.x.y belongs to Kubernetes 1.x; other versions work,
// except for the fields that only one side knows. An older program that reads, changes and updates removes what it does not know. A newer
// one's fields are dropped, with a warning, unless it asks for strict validation.
//
// Often said: "the versions must be equal". Equal versions spare you this. Patch or apply, and an older program does no harm.
//
// Ways: the layers read; all writes are client-go's.
func Skew(p *play.Play) {
	server := play.Must(p.Client().Discovery().ServerVersion())
	p.Print("server %s.%s", server.Major, server.Minor)
	play.Check(custom.Define(p.Context(), p.Config(), []byte(gardens)))
	client := dynamic.NewForConfigOrDie(p.Config()).
		Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gardens"}).Namespace("default")
	garden := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Garden",
			"metadata": map[string]any{"name": "home"}, "spec": spec}}
	}
	now := play.Must(client.Create(p.Context(), garden(map[string]any{"size": int64(1), "color": "red"}), metav1.CreateOptions{}))
	p.Print("a garden: %v", now.Object["spec"])

	now = play.Must(client.Patch(p.Context(), "home", types.MergePatchType, []byte(`{"spec":{"size":2}}`), metav1.PatchOptions{}))
	p.Print("an older program patches: %v", now.Object["spec"])
	var older olderGarden
	play.Check(runtime.DefaultUnstructuredConverter.FromUnstructured(now.Object, &older))
	older.Spec.Size = 3
	object := play.Must(runtime.DefaultUnstructuredConverter.ToUnstructured(&older))
	now = play.Must(client.Update(p.Context(), &unstructured.Unstructured{Object: object}, metav1.UpdateOptions{}))
	p.Print("an older program gets, changes and updates: %v", now.Object["spec"])

	play.Check(client.Delete(p.Context(), "home", metav1.DeleteOptions{}))
	newer := garden(map[string]any{"size": int64(4), "fence": "high"})
	_, err := client.Create(p.Context(), newer, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	p.Print("a newer program, strict: %v", err)
	now = play.Must(client.Create(p.Context(), newer, metav1.CreateOptions{}))
	p.Print("a newer program: %v", now.Object["spec"])
}
