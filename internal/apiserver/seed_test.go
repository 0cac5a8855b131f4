package apiserver_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/internal/apiserver"
)

func TestSeedNamespaces_AreLikeAnyOther(t *testing.T) {
	c := start(t, apiserver.Options{})
	require.NoError(t, c.SeedNamespaces("one", "two"))
	require.ErrorContains(t, c.SeedNamespaces("three", "two"), "namespace two")

	client := c.clientset("").CoreV1()
	for _, name := range []string{"one", "two", "three"} {
		ns, err := client.Namespaces().Get(c.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, corev1.NamespaceActive, ns.Status.Phase)
		require.NotEmpty(t, ns.UID)
		_, err = client.ConfigMaps(name).Create(c.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

func TestSeed_CreatesReplacesAndDeletesAsWatchesSee(t *testing.T) {
	c := start(t, apiserver.Options{})
	configmaps := corev1.SchemeGroupVersion.WithResource("configmaps")
	seed := func(value string) *corev1.ConfigMap {
		obj := &corev1.ConfigMap{Data: map[string]string{"value": value}}
		obj.Namespace, obj.Name = "default", "seeded"
		require.NoError(t, c.Seed(configmaps, obj))
		return obj
	}
	client := c.clientset("").CoreV1().ConfigMaps("default")
	now := strconv.FormatInt(c.Revision(), 10)
	watching, err := client.Watch(c.Context(), metav1.ListOptions{ResourceVersion: now})
	require.NoError(t, err)
	defer watching.Stop()
	sees := func(want watch.EventType, value string) *corev1.ConfigMap {
		e := <-watching.ResultChan()
		require.Equal(t, want, e.Type)
		obj := e.Object.(*corev1.ConfigMap)
		require.Equal(t, value, obj.Data["value"])
		return obj
	}

	first := seed("1")
	created := sees(watch.Added, "1")
	require.NotEmpty(t, created.UID)
	require.NotZero(t, created.CreationTimestamp)
	require.Equal(t, created.ResourceVersion, first.ResourceVersion, "the caller's object says what it has become")

	seed("2")
	replaced := sees(watch.Modified, "2")
	require.Equal(t, created.UID, replaced.UID)
	require.Equal(t, created.CreationTimestamp, replaced.CreationTimestamp)
	require.NotEqual(t, created.ResourceVersion, replaced.ResourceVersion)

	require.NoError(t, c.Unseed(configmaps, "default", "seeded"))
	require.Equal(t, created.UID, sees(watch.Deleted, "2").UID)
	seed("3")
	require.NotEqual(t, created.UID, sees(watch.Added, "3").UID)
}

func TestSeed_RefusesWhatIsNotThere(t *testing.T) {
	c := start(t, apiserver.Options{})
	unknown := corev1.SchemeGroupVersion.WithResource("nonesuch")
	require.ErrorContains(t, c.Seed(unknown, &corev1.ConfigMap{}), "does not serve")
	require.ErrorContains(t, c.Unseed(unknown, "default", "x"), "does not serve")
	configmaps := corev1.SchemeGroupVersion.WithResource("configmaps")
	require.ErrorContains(t, c.Unseed(configmaps, "default", "x"), "no configmaps default/x")
}
