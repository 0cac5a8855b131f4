package apiservertest

import (
	"iter"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// ConfigMaps lists and watches those of the default namespace; Asked tells of it.
func (s *Server) ConfigMaps(opts listwatch.Options) *listwatch.Client[*corev1.ConfigMap] {
	s.Helper()
	opts.Namespace = metav1.NamespaceDefault
	lw, err := listwatch.NewForConfig[*corev1.ConfigMap](s.Noting(), corev1.SchemeGroupVersion.WithResource("configmaps"), opts)
	require.NoError(s, err)
	return lw
}

// ConfigMap is one of the default namespace, whose only datum is called "value".
func ConfigMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}, Data: map[string]string{"value": value},
	}
}

// Values are the data of ConfigMaps, such as those of a store, by name.
func Values(all iter.Seq2[listwatch.Key, *corev1.ConfigMap]) map[string]string {
	values := map[string]string{}
	for key, obj := range all {
		values[key.Name] = obj.Data["value"]
	}
	return values
}

// Put creates that ConfigMap. If it is there already, Put changes its data only. It returns what the server made of it.
func (s *Server) Put(name, value string) *corev1.ConfigMap {
	s.Helper()
	obj := ConfigMap(name, value)
	current, err := s.Client.CoreV1().ConfigMaps(obj.Namespace).Get(s.Context(), name, metav1.GetOptions{})
	if err == nil {
		obj.ObjectMeta = current.ObjectMeta
	}
	return s.PutObject(obj)
}

// PutObject creates or replaces a ConfigMap.
func (s *Server) PutObject(obj *corev1.ConfigMap) *corev1.ConfigMap {
	s.Helper()
	maps := s.Client.CoreV1().ConfigMaps(obj.Namespace)
	written, err := maps.Update(s.Context(), obj, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		written, err = maps.Create(s.Context(), obj, metav1.CreateOptions{})
	}
	require.NoError(s, err)
	return written
}

// Delete deletes a ConfigMap of the default namespace.
func (s *Server) Delete(name string) {
	s.Helper()
	err := s.Client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Delete(s.Context(), name, metav1.DeleteOptions{})
	require.NoError(s, err)
}

// Miss lets informers miss what happens meanwhile. Their watches end with 410, so that only a list can tell them.
func (s *Server) Miss(happens func()) {
	s.Helper()
	synctest.Wait()
	require.NotZero(s, s.Faults().ExpireWatches())
	synctest.Wait() // they wait a moment before they list again
	happens()
	s.Faults().Compact()
	Pass(time.Minute)
}
