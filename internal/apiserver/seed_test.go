package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver"
)

func TestSeedNamespaces_AreLikeAnyOther(t *testing.T) {
	c := start(t, apiserver.Options{})
	require.NoError(t, c.SeedNamespaces("one", "two"))
	require.ErrorContains(t, c.SeedNamespaces("three", "two"), "namespace two")

	client := c.clientset("").CoreV1()
	for _, name := range []string{"one", "two", "three"} {
		ns, err := client.Namespaces().Get(c.ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, corev1.NamespaceActive, ns.Status.Phase)
		require.NotEmpty(t, ns.UID)
		_, err = client.ConfigMaps(name).Create(c.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}
