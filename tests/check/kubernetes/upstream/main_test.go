package upstream

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/check/controlplane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an API server, and a namespace on it.
type world struct {
	*testing.T
	ctx       context.Context
	plane     *controlplane.Plane
	config    *rest.Config
	client    *kubernetes.Clientset
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	plane := controlplane.StartBare(t)
	config := plane.Config(controlplane.Admin)
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &world{T: t, ctx: t.Context(), plane: plane, config: config, client: client, namespace: "default"}
}

// wantOurs: client-go's informers would pass the tests, too. Only registrations with ours have an Err.
func (w *world) wantOurs(informers ...cache.SharedIndexInformer) {
	w.Helper()
	for _, informer := range informers {
		handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		if err != nil {
			w.Fatal(err)
		}
		if _, ours := handle.(interface{ Err() error }); !ours {
			w.Fatalf("an informer that is not ours: %T", handle)
		}
		if err := informer.RemoveEventHandler(handle); err != nil {
			w.Fatal(err)
		}
	}
}

// eventually polls f until it gives no error.
func (w *world) eventually(what string, f func() error) {
	w.Helper()
	apiservertest.Eventually(w, what, f)
}

// gone turns what a Get returned into an error, unless it says that there is no such object.
func gone[T any](_ T, err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(errors.New("it is still there"), err)
}

// pods are those of the namespace that are not about to go.
func (w *world) pods() (map[string]*corev1.Pod, error) {
	list, err := w.client.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	pods := map[string]*corev1.Pod{}
	for i, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods[pod.Name] = &list.Items[i]
		}
	}
	return pods, nil
}

func (w *world) expectPods(want int) (pods map[string]*corev1.Pod) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d Pods", want), func() (err error) {
		pods, err = w.pods()
		if err == nil && len(pods) != want {
			err = fmt.Errorf("there are %d", len(pods))
		}
		return err
	})
	return pods
}
