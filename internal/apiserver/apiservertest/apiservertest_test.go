package apiservertest

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPut_CreatesAndThenChangesTheDataOnly(t *testing.T) {
	InBubble(t, apiserver.Options{}, func(t *testing.T, s *Server) {
		labelled := ConfigMap("a", "1")
		labelled.Labels = map[string]string{"color": "red"}
		s.PutObject(labelled)
		got := s.Put("a", "2")
		require.Equal(s, map[string]string{"color": "red"}, got.Labels)
		require.Equal(s, map[string]string{"value": "2"}, got.Data)
		require.Equal(s, map[string]string{"value": "3"}, s.Put("b", "3").Data)
		s.Delete("a")
		require.Nil(s, s.Asked(), "the server's own client is not noted")
		page, err := s.ConfigMaps(listwatch.Options{}).List(s.Context(), metav1.ListOptions{})
		require.NoError(s, err)
		require.Len(s, page.Items, 1)
		require.Equal(s, []string{"list"}, s.Asked())
		require.Nil(s, s.Asked(), "it was told")
	})
}

func TestStartOnSocket_IsFoundByItsKubeconfig(t *testing.T) {
	s := StartOnSocket(t, apiserver.Options{})
	cfg, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	require.NoError(t, err)
	other := kubernetes.NewForConfigOrDie(cfg)
	_, err = other.CoreV1().ConfigMaps("default").Create(t.Context(), ConfigMap("a", "1"), metav1.CreateOptions{})
	require.NoError(t, err)
	var found *corev1.ConfigMap
	Eventually(t, "the config map", func() (err error) {
		found, err = s.Client.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
		return err
	})
	require.Equal(t, "1", found.Data["value"])
	s.Stop()
	_, err = other.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
	require.Error(t, err)
}

// failed is a test that notes how it was ended.
type failed struct {
	testing.TB
	said string
}

func (f *failed) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f)
}

func TestEventually_SaysAfterItsPatienceWhatItWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, began := &failed{TB: t}, time.Now()
		require.Panics(t, func() { Eventually(f, "the bus", func() error { return errors.New("is late") }) })
		require.Equal(t, "the bus: not within 3m0s: is late", f.said)
		require.Equal(t, Patience, time.Since(began))
	})
}
