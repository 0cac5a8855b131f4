package controllertest

import (
	"strings"
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

// stateOf is the state of objects in which the server made the names that begin with "p-".
func stateOf(objects []*unstructured.Unstructured, ignore ...string) state {
	made, off := map[string]string{"p-gone": "p-*"}, map[string]string{}
	for _, obj := range objects {
		if obj.GetGenerateName() != "" {
			made[obj.GetName()] = obj.GetGenerateName() + "*"
		}
	}
	for _, what := range ignore {
		off[what] = "not in this test"
	}
	return newComparer(objects, made, off).state()
}

func TestState_DoesNotTellNamesAndUIDsThatTheServerMade(t *testing.T) {
	one := stateOf(objects(t, parentA, child("aa", "a", "x"), child("bb", "a", "y")))
	other := stateOf(objects(t, parentB, child("dd", "b", "y"), child("cc", "b", "x")))
	require.Empty(t, one.differences(other))
	require.Equal(t, `"uid of Parent ns/p"`, one["Child ns/p-*~1 .metadata.ownerReferences[0].uid"])
}

func TestState_TellsAnOwnerThatIsGoneAndAnotherValue(t *testing.T) {
	want := stateOf(objects(t, parentA, child("aa", "a", "x")))
	got := stateOf(objects(t, parentB, child("aa", "a", "z")))
	require.Equal(t, []difference{
		{"Child ns/p-*~1 .metadata.ownerReferences[0].uid", `"uid of Parent ns/p"`, `"uid of what is gone"`},
		{"Child ns/p-*~1 .value", `"x"`, `"z"`},
	}, want.differences(got))
}

func TestState_ANameInsideAnotherTextIsReplacedToo(t *testing.T) {
	derived := func(name, of string) string {
		return "{apiVersion: v1, kind: Config, metadata: {namespace: ns, name: " + name + "-config}, for: the child " + of + "}"
	}
	one := stateOf(objects(t, child("aa", "a", "x"), derived("p-aa", "p-aa")))
	other := stateOf(objects(t, child("bb", "a", "x"), derived("p-bb", "p-bb")))
	require.Empty(t, one.differences(other))
	gone := stateOf(objects(t, child("bb", "a", "x"), derived("p-bb", "p-gone")))
	require.Equal(t, []difference{{"Config ns/p-*-config~1 .for", `"the child p-*"`, `"the child p-* (gone)"`}}, one.differences(gone))
}

func TestState_AGenerationThatIsObservedIsCurrentWhateverItsNumber(t *testing.T) {
	one := stateOf(objects(t, "{apiVersion: v1, kind: A, metadata: {name: a, generation: 3}, status: {observedGeneration: 3}}"))
	other := stateOf(objects(t, "{apiVersion: v1, kind: A, metadata: {name: a, generation: 5}, status: {observedGeneration: 5}}"))
	behind := stateOf(objects(t, "{apiVersion: v1, kind: A, metadata: {name: a, generation: 5}, status: {observedGeneration: 4}}"))
	require.Empty(t, one.differences(other))
	require.Equal(t, []difference{{"A a .status.observedGeneration", `"current"`, `"behind"`}}, one.differences(behind))
}

func TestState_WhatTellsTwoObjectsApart(t *testing.T) {
	for _, test := range []struct {
		name, kind, one, other string
		ignore                 []string
		paths                  []string // that differ
	}{
		{name: "fields of metadata do not", kind: "A",
			one: "metadata: {name: a, uid: x, generation: 1, resourceVersion: '1'}", other: "metadata: {name: a, uid: y, generation: 2, resourceVersion: '2'}"},
		{name: "the same names elsewhere do", kind: "A",
			one: "data: {uid: one, generation: '1', nodePort: '3'}", other: "data: {uid: two, generation: '2', nodePort: '4'}",
			paths: []string{".data.generation", ".data.nodePort", ".data.uid"}},
		{name: "a port that the server chose does not", kind: "Service",
			one: "spec: {clusterIP: 10.0.0.1, ports: [{port: 1, nodePort: 30000}]}", other: "spec: {clusterIP: 10.0.0.2, ports: [{port: 1, nodePort: 30001}]}"},
		{name: "a headless Service does", kind: "Service",
			one: "spec: {clusterIP: None}", other: "spec: {clusterIP: 10.0.0.2}", paths: []string{".spec.clusterIP"}},
		{name: "a number is not a text", kind: "A", one: "v: 1", other: "v: '1'", paths: []string{".v"}},
		{name: "the text nothing is not absence", kind: "A", one: "data: {a: nothing, z: z}", other: "data: {b: nothing, z: z}", paths: []string{".data.a", ".data.b"}},
		{name: "times do not", kind: "A", one: "at: '2026-01-01T00:00:00Z'", other: "at: '2027-01-01T00:00:00.5Z'"},
		{name: "an ignored field", kind: "A", one: "status: {x: 1}, v: 1", other: "v: 2", ignore: []string{"A .status"}, paths: []string{".v"}},
		{name: "an ignored list", kind: "A", one: "s: {list: [{x: 1}]}", other: "s: {list: [{x: 2}, {x: 3}]}", ignore: []string{"A .s.list"}},
		{name: "an ignored field of elements", kind: "A", one: "list: [{x: 1}, {x: 2}]", other: "list: [{x: 3}, {x: 4}]", ignore: []string{"A .list.x"}},
		{name: "an ignored field of one element", kind: "A", one: "list: [{x: 1}, {x: 2}]", other: "list: [{x: 3}, {x: 4}]",
			ignore: []string{"A .list[0].x"}, paths: []string{".list[1].x"}},
		{name: "an ignored kind", kind: "A", one: "v: 1", other: "v: 2", ignore: []string{"A"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			state := func(fields string) state {
				return stateOf(objects(t, "{kind: "+test.kind+", "+fields+"}"), test.ignore...)
			}
			var paths []string
			for _, d := range state(test.one).differences(state(test.other)) {
				_, path, _ := strings.Cut(d.path, "  ")
				paths = append(paths, path)
			}
			require.Equal(t, test.paths, paths)
		})
	}
}

// Which of two objects is the first one must not depend on what is ignored.
func TestState_WhatIsIgnoredDoesNotNumberObjects(t *testing.T) {
	two := func(x, y string) state {
		return stateOf(objects(t,
			"{kind: S, metadata: {name: p-a, generateName: p-}, random: "+x+", v: x}",
			"{kind: S, metadata: {name: p-b, generateName: p-}, random: "+y+", v: y}"), "S .random")
	}
	require.Empty(t, two("1", "2").differences(two("4", "3")))
}

func TestStory_TheObjectOfADifference(t *testing.T) {
	require.Equal(t, "ns/p-*", objectOf("at the end: Child ns/p-*~1 .value"))
	require.Equal(t, "default/web1", objectOf("settled after step 2: Secret default/web1 .data"))
}
