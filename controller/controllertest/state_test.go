package controllertest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func objects(t *testing.T, texts ...string) (all []*unstructured.Unstructured) {
	t.Helper()
	for _, text := range texts {
		obj := &unstructured.Unstructured{}
		content, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		require.NoError(t, obj.UnmarshalJSON(content))
		all = append(all, obj)
	}
	return all
}

const (
	parentA = "{apiVersion: v1, kind: Parent, metadata: {namespace: ns, name: p, uid: 00000000-0000-0000-0000-00000000000a, resourceVersion: '7'}}"
	parentB = "{apiVersion: v1, kind: Parent, metadata: {namespace: ns, name: p, uid: 00000000-0000-0000-0000-00000000000b, resourceVersion: '9'}}"
)

func child(name, owner, value string) string {
	return "{apiVersion: v1, kind: Child, metadata: {namespace: ns, name: p-" + name + ", generateName: p-, uid: 00000000-0000-0000-0000-0000000000" + name +
		", ownerReferences: [{apiVersion: v1, kind: Parent, name: p, uid: 00000000-0000-0000-0000-00000000000" + owner + "}]}, value: " + value + "}"
}

func TestState_DoesNotTellNamesAndUIDsThatTheServerMade(t *testing.T) {
	one := stateOf(objects(t, parentA, child("aa", "a", "x"), child("bb", "a", "y")), nil)
	other := stateOf(objects(t, parentB, child("dd", "b", "y"), child("cc", "b", "x")), nil)
	require.Empty(t, one.differences(other))
	require.Equal(t, "uid of Parent ns/p", one["Child ns/p-*1 .metadata.ownerReferences[0].uid"])
}

func TestState_TellsAnOwnerThatIsGoneAndAnotherValue(t *testing.T) {
	want := stateOf(objects(t, parentA, child("aa", "a", "x")), nil)
	got := stateOf(objects(t, parentB, child("aa", "a", "z")), nil)
	require.Equal(t, []difference{
		{"Child ns/p-*1 .metadata.ownerReferences[0].uid", "uid of Parent ns/p", "uid of what is gone"},
		{"Child ns/p-*1 .value", "x", "z"},
	}, want.differences(got))
	require.Equal(t, "ns/p-*", objectOf("at the end: Child ns/p-*1 .value"))
}

func TestState_AGenerationThatIsObservedIsCurrentWhateverItsNumber(t *testing.T) {
	one := stateOf(objects(t, "{apiVersion: v1, kind: A, metadata: {name: a, generation: 3}, status: {observedGeneration: 3}}"), nil)
	other := stateOf(objects(t, "{apiVersion: v1, kind: A, metadata: {name: a, generation: 5}, status: {observedGeneration: 5}}"), nil)
	behind := stateOf(objects(t, "{apiVersion: v1, kind: A, metadata: {name: a, generation: 5}, status: {observedGeneration: 4}}"), nil)
	require.Empty(t, one.differences(other))
	require.Equal(t, []difference{{"A a .status.observedGeneration", "current", "behind"}}, one.differences(behind))
}
