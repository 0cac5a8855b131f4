package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"glasswatch/internal/apiserver"
)

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties: {size: {type: integer, minimum: 1}, weight: {type: integer}, color: {type: string, default: red}}
          status: {type: object, properties: {phase: {type: string}}}
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

var (
	widgets     = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "widgets"}
	widgetsBeta = schema.GroupVersionResource{Group: "example.org", Version: "v1beta1", Resource: "widgets"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

func parse(t testing.TB, text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

func widget(t testing.TB, spec string) *unstructured.Unstructured {
	return parse(t, "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: a}\nspec: "+spec)
}

func TestCustom_GenerationCountsChangesOfTheSpecOnly(t *testing.T) {
	c := start(t, apiserver.Options{})
	_, err := c.dynamic().Resource(definitions).Create(c.ctx, parse(t, widgetDefinition), metav1.CreateOptions{})
	require.NoError(t, err)
	client := c.dynamic().Resource(widgets).Namespace("default")
	made, err := client.Create(c.ctx, widget(t, "{size: 3}"), metav1.CreateOptions{FieldManager: "a"})
	require.NoError(t, err)
	require.EqualValues(t, 1, made.GetGeneration())

	applied, err := client.Apply(c.ctx, "a", widget(t, "{size: 3, color: red}"), metav1.ApplyOptions{FieldManager: "a", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, applied.GetGeneration())
	applied, err = client.Apply(c.ctx, "a", widget(t, "{size: 3}"), metav1.ApplyOptions{FieldManager: "a", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, applied.GetGeneration())
	require.Equal(t, map[string]any{"size": int64(3), "color": "red"}, applied.Object["spec"])
	// a number that only the applied configuration brings in is read as a float
	applied, err = client.Apply(c.ctx, "a", widget(t, "{size: 3, weight: 7}"), metav1.ApplyOptions{FieldManager: "b", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, applied.GetGeneration())
	same, err := client.Update(c.ctx, applied, metav1.UpdateOptions{FieldManager: "b"})
	require.NoError(t, err)
	require.EqualValues(t, 2, same.GetGeneration())
	applied, err = client.Apply(c.ctx, "a", widget(t, "{size: 4}"), metav1.ApplyOptions{FieldManager: "a", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 3, applied.GetGeneration())
}
