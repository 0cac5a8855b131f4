package operator

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"glasswatch/controller"
	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
)

// Whoever has changed a child meanwhile is not overwritten, and a write is in the cache when it returns.
func TestChildren_AreWrittenOnlyIfTheyAreAsTheCacheHasThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		listener, server := apiserver.NewPipeListener(), apiserver.New(apiserver.Options{})
		ended := make(chan error, 2)
		go func() { ended <- server.Serve(ctx, listener) }()
		cfg := apiserver.RESTConfigFor(listener)
		kube, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		owners, names := []string{}, []string{}
		l, err := NewLayers(cfg, Parts{Namespace: "default"}, "test", scheme.Scheme, func(_ context.Context, key listwatch.Key) (controller.Result, error) {
			owners = append(owners, key.Name)
			return controller.Result{}, nil
		})
		require.NoError(t, err)
		owner := corev1.SchemeGroupVersion.WithKind("Secret")
		children, err := NewChildren(l, corev1.SchemeGroupVersion.WithResource("configmaps"), owner.GroupKind(), nil,
			func(child listwatch.Key) { names = append(names, child.Name) },
			func(ns string) Writer[*corev1.ConfigMap] { return kube.CoreV1().ConfigMaps(ns) })
		require.NoError(t, err)
		go func() { ended <- l.Run(ctx) }()
		synctest.Wait()

		own := metav1.NewControllerRef(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "owner", UID: "u1"}}, owner)
		made, err := children.Create(ctx, &corev1.ConfigMap{Data: map[string]string{"a": "1", "b": "1"}, ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "child", OwnerReferences: []metav1.OwnerReference{*own}}})
		require.NoError(t, err)
		have, found := children.Get(listwatch.KeyOf(made))
		require.True(t, found)
		require.Equal(t, made.GetResourceVersion(), have.GetResourceVersion())
		require.Equal(t, []Object{have}, children.ControlledBy("u1"))

		_, err = kube.CoreV1().ConfigMaps("default").Patch(ctx, "child", types.MergePatchType, []byte(`{"data":{"b":"2"}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		want := have.DeepCopyObject().(*corev1.ConfigMap)
		want.Data["a"] = "2"
		_, err = children.Correct(ctx, have, want)
		require.True(t, apierrors.IsConflict(err), "%v", err)
		require.True(t, apierrors.IsConflict(children.Remove(ctx, have)))
		synctest.Wait()
		have, _ = children.Get(listwatch.KeyOf(made))
		want = have.DeepCopyObject().(*corev1.ConfigMap)
		want.Data["a"] = "2"
		corrected, err := children.Correct(ctx, have, want)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "2", "b": "2"}, corrected.(*corev1.ConfigMap).Data)
		require.NoError(t, children.Remove(ctx, corrected))
		synctest.Wait()
		require.Contains(t, owners, "owner")
		require.Contains(t, names, "child")
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
	})
}
