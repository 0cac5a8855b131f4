package cache

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"glasswatch/listwatch"
)

func TestKeys_AreClientGos(t *testing.T) {
	part := rapid.StringMatching(`[a-c/]{0,4}`)
	rapid.Check(t, func(rt *rapid.T) {
		key := part.Draw(rt, "key")
		ns, name, err := clientgo.SplitMetaNamespaceKey(key)
		ourNs, ourName, ourErr := SplitMetaNamespaceKey(key)
		require.Equal(rt, []string{ns, name, fmt.Sprint(err)}, []string{ourNs, ourName, fmt.Sprint(ourErr)})
		parsed, err := clientgo.ParseObjectName(key)
		ourParsed, ourErr := ParseObjectName(key)
		require.Equal(rt, parsed, ourParsed)
		equalErrors(rt, err, ourErr, "parse")

		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = part.Draw(rt, "namespace"), part.Draw(rt, "name")
		for _, obj := range []any{pod, key, nil, ExplicitKey(key), DeletedFinalStateUnknown{Key: key, Obj: pod}} {
			for _, f := range [][2]KeyFunc{
				{clientgo.MetaNamespaceKeyFunc, MetaNamespaceKeyFunc},
				{clientgo.DeletionHandlingMetaNamespaceKeyFunc, DeletionHandlingMetaNamespaceKeyFunc},
			} {
				theirs, err := f[0](obj)
				ours, ourErr := f[1](obj)
				require.Equal(rt, theirs, ours)
				equalErrors(rt, err, ourErr, "key")
			}
			for _, f := range [][2]func(any) (ObjectName, error){
				{clientgo.ObjectToName, ObjectToName},
				{clientgo.DeletionHandlingObjectToName, DeletionHandlingObjectToName},
			} {
				theirs, err := f[0](obj)
				ours, ourErr := f[1](obj)
				require.Equal(rt, theirs, ours)
				equalErrors(rt, err, ourErr, "name")
			}
		}
		require.Equal(rt, clientgo.MetaObjectToName(pod), MetaObjectToName(pod))
		nn := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		require.Equal(rt, clientgo.NamespacedNameAsObjectName(nn), NamespacedNameAsObjectName(nn))
		require.Equal(rt, clientgo.NewObjectName(nn.Namespace, nn.Name), NewObjectName(nn.Namespace, nn.Name))
	})
}

func TestNameShape_NamesWhatStringsName(t *testing.T) {
	sh := nameShape[*corev1.Pod]()
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.StringMatching(`[a-c/]{0,4}`).Draw(rt, "key")
		key, ok := sh.parse(s)
		require.Equal(rt, len(s) == 0 || s[0] != '/', ok, "no name prints as a string that begins with a slash")
		if ok {
			require.Equal(rt, s, sh.format(key))
		}
		for _, obj := range []any{ExplicitKey(s), DeletedFinalStateUnknown{Key: s}} {
			named, err := sh.keyOf(obj)
			require.Equal(rt, ok, err == nil)
			require.True(rt, !ok || named == key)
		}
	})
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = "a", "x"
	key, err := sh.keyOf(pod)
	require.NoError(t, err)
	require.Equal(t, listwatch.Key{Namespace: "a", Name: "x"}, key)
	_, err = sh.object(&corev1.Node{})
	require.EqualError(t, err, "the store holds *v1.Pod, not *v1.Node")
}

func TestIndexFuncs_AreClientGos(t *testing.T) {
	values := func(n int) IndexFunc {
		return func(any) ([]string, error) { return []string{"1", "2", "3"}[:n], nil }
	}
	failing := func(any) ([]string, error) { return nil, errKeyless }
	for _, f := range []IndexFunc{values(0), values(1), values(2), failing} {
		theirs, err := clientgo.IndexFuncToKeyFuncAdapter(f)(nil)
		ours, ourErr := IndexFuncToKeyFuncAdapter(f)(nil)
		require.Equal(t, theirs, ours)
		require.Equal(t, err == nil, ourErr == nil)
		require.Equal(t, errors.Is(err, errKeyless), errors.Is(ourErr, errKeyless))
	}
	pod := &corev1.Pod{}
	pod.Namespace = "a"
	for _, obj := range []any{pod, "no object"} {
		theirs, err := clientgo.MetaNamespaceIndexFunc(obj)
		ours, ourErr := MetaNamespaceIndexFunc(obj)
		require.Equal(t, theirs, ours)
		equalErrors(t, err, ourErr, "namespace")
	}
	indexers := TypedIndexersToIndexers(TypedIndexers[*corev1.Pod]{
		"name": func(pod *corev1.Pod) ([]string, error) { return []string{pod.Name}, nil },
	})
	got, err := indexers["name"](pod)
	require.NoError(t, err)
	require.Equal(t, []string{""}, got)
	_, err = indexers["name"](&corev1.Node{})
	require.EqualError(t, err, "the index function wants *v1.Pod, not *v1.Node")
}
