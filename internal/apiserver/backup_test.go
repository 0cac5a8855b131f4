package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver"
)

func TestFaults_ARestoredBackupEndsWatchesAndGivesVersionsAgain(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		maps := c.clientset("").CoreV1().ConfigMaps("default")
		create := func(name string) *corev1.ConfigMap {
			obj, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			require.NoError(t, err)
			return obj
		}
		kept := create("kept")
		backup := c.Faults().Backup()
		lost := create("lost")
		w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: lost.ResourceVersion})
		require.NoError(t, err)
		c.Faults().Restore(backup)

		expect(t, w, "end")
		_, err = maps.Get(t.Context(), "lost", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err))
		list, err := maps.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, kept.ResourceVersion, list.ResourceVersion)
		again := create("again")
		require.Equal(t, lost.ResourceVersion, again.ResourceVersion)
		require.NotEqual(t, lost.UID, again.UID)
	})
}
