package suite

import (
	"context"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
)

// hears waits until the Events about a CloudManager are exactly these: the messages of Normal ones, else the reasons.
// What was told twice is there twice.
func (w *world) hears(name string, want ...string) {
	w.t.Helper()
	slices.Sort(want)
	w.eventually("the Events about "+name, func() error {
		list, err := w.kube.CoreV1().Events(w.namespace).List(context.Background(), metav1.ListOptions{})
		require.NoError(w.t, err)
		got := []string{}
		for _, e := range list.Items {
			line := e.Message
			if e.Type == corev1.EventTypeWarning {
				line = "Warning " + e.Reason
			}
			if e.InvolvedObject.Name == name && e.InvolvedObject.Kind == v1.Kind.Kind {
				got = append(got, slices.Repeat([]string{line}, times(e))...)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("got %q, want %q", got, want)
		}
		return nil
	})
}

// times is how often an Event was told. Only one of the two recorders has a series.
func times(e corev1.Event) int {
	n := max(1, e.Count)
	if e.Series != nil {
		n = max(n, e.Series.Count)
	}
	return int(n)
}

// warnings are the messages of the Warning Events about a CloudManager.
func (w *world) warnings(name string) (messages []string) {
	list, err := w.kube.CoreV1().Events(w.namespace).List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, e := range list.Items {
		if e.Type == corev1.EventTypeWarning && e.InvolvedObject.Name == name {
			messages = append(messages, e.Message)
		}
	}
	return messages
}
