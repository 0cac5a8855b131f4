package operatorsteps

import (
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/internal/custom"
)

// script is what happens in a step. The first act is before the program starts.
func script(step int) []act {
	switch step {
	case 5:
		return []act{{define, 0}, {createShop, 1}, {deleteShop, 1}}
	case 6:
		front := func(w *world) { define(w); w.actors.Hold("ake-front") }
		return []act{{front, 0}, {createShop, 3}, {release("ake-front"), 1}, {changeImage, 3}}
	case 7:
		identity := func(w *world) { define(w); w.actors.Hold("cm-identity") }
		return []act{{identity, 0}, {createShop, 5}, {release("cm-identity"), 5}}
	default: // about Deployments
		before := func(w *world) { w.createDeployment("web", 1) }
		create := func(w *world) { w.createDeployment("api", 2) }
		return []act{{before, 1}, {create, 1}, {scaleAPI, 1}, {deleteAPI, 1}}
	}
}

func (w *world) createDeployment(name string, replicas int32) {
	w.Helper()
	labels := map[string]string{"app": name}
	_, err := w.Client.AppsV1().Deployments("default").Create(w.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: "nginx:1.20"}}}}},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
}

func scaleAPI(w *world) {
	_, err := w.Client.AppsV1().Deployments("default").Patch(w.Context(), "api", types.MergePatchType,
		[]byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
	require.NoError(w, err)
}

func deleteAPI(w *world) {
	require.NoError(w, w.Client.AppsV1().Deployments("default").Delete(w.Context(), "api", metav1.DeleteOptions{}))
}

// define makes the kind CloudManager known to the server.
func define(w *world) { require.NoError(w, custom.Define(w.Context(), w.Config, v1.Definition)) }

func createShop(w *world) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "learn", "operator", "shop.yaml"))
	require.NoError(w, err)
	var shop v1.CloudManager
	require.NoError(w, yaml.UnmarshalStrict(text, &shop))
	_, err = w.client.Create(w.Context(), &shop, metav1.CreateOptions{})
	require.NoError(w, err)
}

func changeImage(w *world) {
	_, err := w.client.Patch(w.Context(), "shop", types.MergePatchType,
		[]byte(`{"spec":{"front":{"deployment":{"image":"nginx:1.21"}}}}`), metav1.PatchOptions{})
	require.NoError(w, err)
}

func deleteShop(w *world) {
	require.NoError(w, w.client.Delete(w.Context(), "shop", metav1.DeleteOptions{}))
}

func release(name string) func(w *world) {
	return func(w *world) { w.actors.Release(name) }
}
