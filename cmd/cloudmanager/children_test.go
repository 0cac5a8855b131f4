package main

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"glasswatch/cmd/internal/layers"
	"glasswatch/cmd/internal/operator"
	"glasswatch/controller"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

// Whoever has changed a child meanwhile is not overwritten, and a write is in the cache when it returns.
func TestChildren_AreWrittenOnlyIfTheyAreAsTheCacheHasThem(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		ctx, kube := t.Context(), s.Client
		owners, names := []string{}, []string{}
		reconcile := func(_ context.Context, key listwatch.Key) (controller.Result, error) {
			owners = append(owners, key.Name)
			return controller.Result{}, nil
		}
		l, err := layers.New(s.Config, operator.Parts{Namespace: "default"}, "test", scheme.Scheme, reconcile)
		require.NoError(t, err)
		owner := corev1.SchemeGroupVersion.WithKind("Secret")
		children, err := newChildren(l, corev1.SchemeGroupVersion.WithResource("configmaps"), owner.GroupKind(), nil,
			func(child listwatch.Key) { names = append(names, child.Name) },
			func(ns string) writer[*corev1.ConfigMap] { return kube.CoreV1().ConfigMaps(ns) })
		require.NoError(t, err)
		apiservertest.Go(t, l.Run)
		synctest.Wait()

		own := metav1.NewControllerRef(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "owner", UID: "u1"}}, owner)
		meta := metav1.ObjectMeta{Namespace: "default", Name: "child", OwnerReferences: []metav1.OwnerReference{*own}}
		data := map[string]string{"a": "1", "b": "1"}
		made, err := children.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: data})
		require.NoError(t, err)
		have, found := children.Get(listwatch.KeyOf(made))
		require.True(t, found)
		require.Equal(t, made.GetResourceVersion(), have.GetResourceVersion())
		require.Equal(t, []object{have}, children.ControlledBy("u1"))

		_, err = kube.CoreV1().ConfigMaps("default").Patch(ctx, "child", types.MergePatchType,
			[]byte(`{"data":{"b":"2"}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		set := func(obj object) {
			obj.(*corev1.ConfigMap).Data["a"] = "2"
			obj.SetUID("") // what they are set to does not matter
			obj.SetResourceVersion("")
		}
		_, _, err = children.Correct(ctx, have, set)
		require.True(t, apierrors.IsConflict(err), "%v", err)
		require.True(t, apierrors.IsConflict(children.Remove(ctx, have)))
		synctest.Wait()
		have, _ = children.Get(listwatch.KeyOf(made))
		corrected, changed, err := children.Correct(ctx, have, set)
		require.NoError(t, err)
		require.True(t, changed)
		require.Equal(t, map[string]string{"a": "2", "b": "2"}, corrected.(*corev1.ConfigMap).Data)
		again, changed, err := children.Correct(ctx, corrected, func(object) {})
		require.NoError(t, err)
		require.False(t, changed)
		require.Equal(t, corrected, again)
		require.NoError(t, children.Remove(ctx, corrected))
		synctest.Wait()
		require.Contains(t, owners, "owner")
		require.Contains(t, names, "child")
	})
}

func TestWithoutForeignData_KeepsOnlyMetadataOfForeignSecrets(t *testing.T) {
	secret := func(label string) *corev1.Secret {
		return &corev1.Secret{Data: map[string][]byte{"k": []byte("s3cret")}, ObjectMeta: metav1.ObjectMeta{
			Name: "s", Labels: map[string]string{"by": label},
			Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "s3cret"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		}}
	}
	cached, err := withoutForeignData("by", "test")(secret("other"))
	require.NoError(t, err)
	meta := metav1.ObjectMeta{Name: "s", Labels: map[string]string{"by": "other"}}
	require.Equal(t, &corev1.Secret{ObjectMeta: meta}, cached)
	cached, err = withoutForeignData("by", "test")(secret("test"))
	require.NoError(t, err)
	require.Equal(t, secret("test"), cached)
}
