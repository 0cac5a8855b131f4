package external

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// In the stack of an informer's goroutine stands which implementation runs.
const (
	ours   = "glasswatch/reflector.(*Reflector"
	theirs = "k8s.io/client-go/tools/cache.(*Reflector)"
)

// step is something done in the cluster, and a line that the program prints because of it.
type step struct {
	do   func(ctx context.Context, client kubernetes.Interface) error
	want string
}

func nothing(context.Context, kubernetes.Interface) error { return nil }

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: data}
}

func service(name, label string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"label": label}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func createService(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().Services("default").Create(ctx, service("web", ""), metav1.CreateOptions{})
	return err
}

func createConfigMap(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("web", map[string]string{"text": "a"}), metav1.CreateOptions{})
	return err
}

func updateConfigMap(ctx context.Context, client kubernetes.Interface) error {
	changed := configMap("web", map[string]string{"text": "b", "more": "c"})
	_, err := client.CoreV1().ConfigMaps("default").Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

// ways are the modules, each with what its two programs do.
var ways = map[string][]step{
	"factory": {
		{nothing, "synced 1"},
		{createService, "add default/web"},
		{func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.CoreV1().Services("default").Update(ctx, service("web", "b"), metav1.UpdateOptions{})
			return err
		}, "update default/web"},
		{func(ctx context.Context, client kubernetes.Interface) error {
			return client.CoreV1().Services("default").Delete(ctx, "web", metav1.DeleteOptions{})
		}, "delete default/web"},
	},
	"manager": {
		{createConfigMap, "created default/web"},
		{updateConfigMap, "updated default/web"},
		{func(ctx context.Context, client kubernetes.Interface) error {
			return client.CoreV1().Secrets("default").Delete(ctx, "web", metav1.DeleteOptions{})
		}, "created default/web"},
	},
	"direct": {
		{createConfigMap, "default/web has 1"},
		{updateConfigMap, "default/web has 2"},
		{func(ctx context.Context, client kubernetes.Interface) error {
			return client.CoreV1().ConfigMaps("default").Delete(ctx, "web", metav1.DeleteOptions{})
		}, "default/web is gone"},
	},
}

// play runs a program through its story.
func play(t *testing.T, program string, story []step, environment ...string) *process {
	t.Helper()
	c := newCluster(t)
	p := start(t, c, program, environment...)
	for _, s := range story {
		require.NoError(t, s.do(t.Context(), c.client))
		p.expect(s.want)
	}
	return p
}

func TestSwap_EachWayDoesTheSameBeforeAndAfterItOnOtherInformers(t *testing.T) {
	for module, story := range ways {
		t.Run(module, func(t *testing.T) {
			programs := build(t, module)
			for _, run := range []struct {
				name, program      string
				environment        []string
				runs, doesNotRunOn string
			}{
				{"before", "before", nil, theirs, ours},
				{"after", "after", nil, ours, theirs},
			} {
				t.Run(run.name, func(t *testing.T) {
					program := filepath.Join(programs, run.program)
					stacks, err := play(t, program, story, run.environment...).end(syscall.SIGQUIT)
					require.Error(t, err, "a program that is told to quit prints its goroutines and fails")
					require.Contains(t, stacks, run.runs)
					require.NotContains(t, stacks, run.doesNotRunOn)

					_, err = play(t, program, story, run.environment...).end(syscall.SIGTERM)
					require.NoError(t, err, "it ends when it is told to")
				})
			}
		})
	}
}
