package apiserver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
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
	_, err := c.dynamic().Resource(definitions).Create(c.Context(), parse(t, widgetDefinition), metav1.CreateOptions{})
	require.NoError(t, err)
	client := c.dynamic().Resource(widgets).Namespace("default")
	made, err := client.Create(c.Context(), widget(t, "{size: 3}"), metav1.CreateOptions{FieldManager: "a"})
	require.NoError(t, err)
	require.EqualValues(t, 1, made.GetGeneration())

	applied, err := client.Apply(c.Context(), "a", widget(t, "{size: 3, color: red}"), metav1.ApplyOptions{FieldManager: "a", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, applied.GetGeneration())
	applied, err = client.Apply(c.Context(), "a", widget(t, "{size: 3}"), metav1.ApplyOptions{FieldManager: "a", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, applied.GetGeneration())
	require.Equal(t, map[string]any{"size": int64(3), "color": "red"}, applied.Object["spec"])
	// a number that only the applied configuration brings in is read as a float
	applied, err = client.Apply(c.Context(), "a", widget(t, "{size: 3, weight: 7}"), metav1.ApplyOptions{FieldManager: "b", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, applied.GetGeneration())
	same, err := client.Update(c.Context(), applied, metav1.UpdateOptions{FieldManager: "b"})
	require.NoError(t, err)
	require.EqualValues(t, 2, same.GetGeneration())
	applied, err = client.Apply(c.Context(), "a", widget(t, "{size: 4}"), metav1.ApplyOptions{FieldManager: "a", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 3, applied.GetGeneration())
}

// define opens the widgets and returns a client for them.
func (c *cluster) define() dynamic.ResourceInterface {
	_, err := c.dynamic().Resource(definitions).Create(c.Context(), parse(c, widgetDefinition), metav1.CreateOptions{})
	require.NoError(c, err)
	return c.dynamic().Resource(widgets).Namespace("default")
}

func TestCustom_ADefinitionOpensItsResourceAtOnce(t *testing.T) {
	c := start(t, apiserver.Options{})
	require.Equal(t, 404, c.raw("GET", "/apis/example.org/v1/widgets", "").code)
	client := c.define()
	def, err := c.dynamic().Resource(definitions).Get(c.Context(), "widgets.example.org", metav1.GetOptions{})
	require.NoError(t, err)
	conditions, _, err := unstructured.NestedSlice(def.Object, "status", "conditions")
	require.NoError(t, err)
	for i, want := range []string{"NamesAccepted", "Established"} {
		require.Equal(t, want, conditions[i].(map[string]any)["type"])
		require.Equal(t, "True", conditions[i].(map[string]any)["status"])
	}
	made, err := client.Create(c.Context(), widget(t, "{size: 3}"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"size": int64(3), "color": "red"}, made.Object["spec"], "defaults are filled in")

	beta, err := c.dynamic().Resource(widgetsBeta).Namespace("default").Get(c.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "example.org/v1beta1", beta.GetAPIVersion())
	require.Equal(t, made.GetResourceVersion(), beta.GetResourceVersion())
	require.NoError(t, unstructured.SetNestedField(beta.Object, int64(4), "spec", "size"))
	_, err = c.dynamic().Resource(widgetsBeta).Namespace("default").Update(c.Context(), beta, metav1.UpdateOptions{})
	require.NoError(t, err)
	list, err := client.List(c.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "example.org/v1", list.Items[0].GetAPIVersion())
	size, _, _ := unstructured.NestedInt64(list.Items[0].Object, "spec", "size")
	require.EqualValues(t, 4, size)
}

func TestCustom_TheSchemaIsHeldAgainstObjects(t *testing.T) {
	c := start(t, apiserver.Options{})
	client := c.define()
	_, err := client.Create(c.Context(), widget(t, "{size: 0}"), metav1.CreateOptions{})
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	require.EqualError(t, err, `Widget.example.org "a" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1`)
	_, err = client.Create(c.Context(), widget(t, "{size: 1, bogus: 2}"), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	require.True(t, apierrors.IsBadRequest(err), "%v", err)
	require.ErrorContains(t, err, `unknown field "spec.bogus"`)
	made, err := client.Create(c.Context(), widget(t, "{size: 1, bogus: 2}"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotContains(t, made.Object["spec"], "bogus", "pruned")
	_, err = client.Patch(c.Context(), "a", types.MergePatchType, []byte(`{"spec":{"size":"big"}}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	_, err = client.Patch(c.Context(), "a", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsUnsupportedMediaType(err), "%v", err)
	bad := widgetDefinition[:len(widgetDefinition)-len("storage: false\n    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n")] + "storage: false\n"
	_, err = c.dynamic().Resource(definitions).Update(c.Context(), parse(t, bad), metav1.UpdateOptions{})
	require.True(t, apierrors.IsInvalid(err), "%v", err)
}

func TestCustom_StatusHasADoorOfItsOwn(t *testing.T) {
	c := start(t, apiserver.Options{})
	client := c.define()
	obj := widget(t, "{size: 3}")
	obj.Object["status"] = map[string]any{"phase": "early"}
	made, err := client.Create(c.Context(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotContains(t, made.Object, "status")
	made.Object["status"] = map[string]any{"phase": "done"}
	made.Object["spec"] = map[string]any{"size": int64(9)}
	made.SetLabels(map[string]string{"not": "here"})
	got, err := client.UpdateStatus(c.Context(), made, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"phase": "done"}, got.Object["status"])
	require.Equal(t, map[string]any{"size": int64(3), "color": "red"}, got.Object["spec"])
	require.Empty(t, got.GetLabels())
	require.EqualValues(t, 1, got.GetGeneration())
}

func TestCustom_ADeletedDefinitionTakesItsObjectsAlong(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		client := c.define()
		held := widget(t, "{size: 3}")
		held.SetFinalizers([]string{"example.com/hold"})
		_, err := client.Create(c.Context(), held, metav1.CreateOptions{})
		require.NoError(t, err)
		w, err := client.Watch(c.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		expect(t, w, "ADDED a")
		require.NoError(t, c.dynamic().Resource(definitions).Delete(c.Context(), "widgets.example.org", metav1.DeleteOptions{}))
		expect(t, w, "MODIFIED a")

		late := widget(t, "{size: 1}")
		late.SetName("late")
		_, err = client.Create(c.Context(), late, metav1.CreateOptions{})
		require.True(t, apierrors.IsMethodNotSupported(err), "%v", err)
		require.ErrorContains(t, err, "create not allowed while custom resource definition is terminating")
		_, err = client.Patch(c.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		begin := time.Now()
		expect(t, w, "DELETED a", "end")
		require.Less(t, time.Since(begin), time.Minute)
		_, err = client.Get(c.Context(), "a", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		_, err = c.dynamic().Resource(definitions).Get(c.Context(), "widgets.example.org", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)

		client = c.define()
		list, err := client.List(c.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, list.Items)
	})
}

func TestCustom_ObjectsOwnAndAreOwned(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		client := c.define()
		owner, err := client.Create(c.Context(), widget(t, "{size: 3}"), metav1.CreateOptions{})
		require.NoError(t, err)
		c.configMap("child", func(m *metav1.ObjectMeta) {
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Widget", Name: "a", UID: owner.GetUID()}}
		})
		require.Equal(t, []string{"child"}, c.present())
		require.NoError(t, client.Delete(c.Context(), "a", metav1.DeleteOptions{}))
		require.Empty(t, c.present())
	})
}

func TestCustom_AnObjectHasTheFieldsOfTheVersionThatIsAskedFor(t *testing.T) {
	c := start(t, apiserver.Options{})
	def := parse(t, widgetDefinition)
	versions := def.Object["spec"].(map[string]any)["versions"].([]any)
	versions[0].(map[string]any)["storage"], versions[1].(map[string]any)["storage"] = false, true
	_, err := c.dynamic().Resource(definitions).Create(c.Context(), def, metav1.CreateOptions{})
	require.NoError(t, err)
	beta := c.dynamic().Resource(widgetsBeta).Namespace("default")
	v1 := c.dynamic().Resource(widgets).Namespace("default")

	obj := widget(t, "{size: 3, shape: round}")
	obj.SetAPIVersion("example.org/v1beta1")
	made, err := beta.Create(c.Context(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Contains(t, made.Object["spec"], "shape")
	got, err := v1.Get(c.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotContains(t, got.Object["spec"], "shape")
	_, err = v1.Apply(c.Context(), "a", widget(t, "{size: 4}"), metav1.ApplyOptions{FieldManager: "b", Force: true})
	require.NoError(t, err)
	got, err = beta.Get(c.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotContains(t, got.Object["spec"], "shape", "a write in v1 drops what v1 does not have")

	def, err = c.dynamic().Resource(definitions).Get(c.Context(), def.GetName(), metav1.GetOptions{})
	require.NoError(t, err)
	versions = def.Object["spec"].(map[string]any)["versions"].([]any)
	schema := versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	spec := schema["properties"].(map[string]any)["spec"].(map[string]any)
	delete(spec["properties"].(map[string]any), "color")
	_, err = c.dynamic().Resource(definitions).Update(c.Context(), def, metav1.UpdateOptions{})
	require.NoError(t, err)
	got, err = v1.Get(c.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"size": int64(4)}, got.Object["spec"])
}
