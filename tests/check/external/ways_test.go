package external

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// implementation is a method that waits, and so stands in the stack of a goroutine, while it runs.
type implementation string

const (
	clientGo   implementation = "k8s.io/client-go/tools/cache.(*Reflector)"
	glasswatch implementation = "glasswatch/reflector.(*Reflector"
	sharing    implementation = "glasswatch/compat/internal/undecoded.(*wait)"
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
	created := configMap("web", map[string]string{"text": "a"})
	_, err := client.CoreV1().ConfigMaps("default").Create(ctx, created, metav1.CreateOptions{})
	return err
}

func updateConfigMap(ctx context.Context, client kubernetes.Interface) error {
	changed := configMap("web", map[string]string{"text": "b", "more": "c"})
	_, err := client.CoreV1().ConfigMaps("default").Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

// run is one of a module's two programs, with a value of GLASSWATCH_INFORMERS, and what it then runs on.
type run struct {
	program, informers string
	on                 []implementation
}

// way is a module: what both of its programs do, and on what.
type way struct {
	story []step
	runs  []run
}

var chosen = []run{
	{"before", "", []implementation{clientGo}},
	{"after", "", []implementation{glasswatch, sharing}},
	{"after", "unshared", []implementation{glasswatch}},
	{"after", "client-go", []implementation{clientGo}},
}

var ways = map[string]way{
	"factory": {[]step{
		{nothing, "synced 1"},
		{createService, "add default/web"},
		{func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.CoreV1().Services("default").Update(ctx, service("web", "b"), metav1.UpdateOptions{})
			return err
		}, "update default/web"},
		{func(ctx context.Context, client kubernetes.Interface) error {
			return client.CoreV1().Services("default").Delete(ctx, "web", metav1.DeleteOptions{})
		}, "delete default/web"},
	}, chosen},
	"manager": {[]step{
		{createConfigMap, "created default/web"},
		{updateConfigMap, "updated default/web"},
		{func(ctx context.Context, client kubernetes.Interface) error {
			return client.CoreV1().Secrets("default").Delete(ctx, "web", metav1.DeleteOptions{})
		}, "created default/web"},
	}, chosen},
	"direct": {[]step{
		{createConfigMap, "default/web has 1"},
		{updateConfigMap, "default/web has 2"},
		{func(ctx context.Context, client kubernetes.Interface) error {
			return client.CoreV1().ConfigMaps("default").Delete(ctx, "web", metav1.DeleteOptions{})
		}, "default/web is gone"},
	}, []run{
		{"before", "", []implementation{clientGo}},
		{"after", "", []implementation{glasswatch}},
	}},
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

func TestSwap_EachWayDoesTheSameOnTheInformersThatItSays(t *testing.T) {
	for module, way := range ways {
		t.Run(module, func(t *testing.T) {
			programs := build(t, module, "./before", "./after")
			for _, run := range way.runs {
				t.Run(run.program+" "+run.informers, func(t *testing.T) {
					program := filepath.Join(programs, run.program)
					informers := "GLASSWATCH_INFORMERS=" + run.informers
					stacks, err := play(t, program, way.story, informers).end(syscall.SIGQUIT)
					require.Error(t, err, "a program that is told to quit prints its goroutines and fails")
					var on []implementation
					for _, i := range []implementation{clientGo, glasswatch, sharing} {
						if strings.Contains(stacks, string(i)) {
							on = append(on, i)
						}
					}
					require.Equal(t, run.on, on)

					_, err = play(t, program, way.story, informers).end(syscall.SIGTERM)
					require.NoError(t, err, "it ends when it is told to")
				})
			}
		})
	}
}
