package main

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
	"glasswatch/cmd/foo-controller/client"
	"glasswatch/cmd/internal/operator"
	"glasswatch/internal/actors"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// world is an API server in virtual time, what plays the Deployment controller, and a Controller that is started.
type world struct {
	t      *testing.T
	cfg    *rest.Config
	server *apiserver.Server
	kube   kubernetes.Interface
	foos   *client.Foos
	actor  *actors.Workloads
	c      *Controller
	log    errorLog
	may    chan struct{} // Parts.MayWrite, if it was set

	mu     sync.Mutex // protects writes
	writes []string   // of the controller, Events apart
}

// in lets a test play in a world, with Foos defined, and synced again every 30 seconds.
func in(t *testing.T, p operator.Parts, play func(t *testing.T, w *world)) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		w := &world{t: t, server: s.Server, cfg: s.Config, kube: s.Client, actor: actors.New(s.Client, "")}
		foos, err := client.New(w.cfg)
		require.NoError(t, err)
		w.foos = foos("default")
		require.NoError(t, client.Define(t.Context(), w.cfg))
		apiservertest.Go(t, w.actor.Run)
		watched := rest.CopyConfig(w.cfg)
		watched.Wrap(w.note)
		if p.MayWrite != nil {
			w.may = make(chan struct{}) // of the bubble
			p.MayWrite = w.may
		}
		w.c, err = New(watched, p, 30*time.Second)
		require.NoError(t, err)
		apiservertest.Go(t, func(ctx context.Context) error {
			return w.c.Run(klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&w.log)))))
		})
		play(t, w)
	})
}

func (w *world) note(next http.RoundTripper) http.RoundTripper {
	return apiservertest.RoundTripper(func(r *http.Request) (answer *http.Response, err error) {
		if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
			defer func() {
				if err == nil && answer.StatusCode == http.StatusConflict {
					return
				}
				_, what, _ := strings.Cut(r.URL.Path, "/default/")
				w.mu.Lock()
				defer w.mu.Unlock()
				w.writes = append(w.writes, r.Method+" "+what)
			}()
		}
		return next.RoundTrip(r)
	})
}

// wrote returns the writes since the last call, once nothing moves for a second. Conflicts are left out: which cache is
// behind when is chance.
func (w *world) wrote() []string {
	<-time.After(time.Second) // of virtual time
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.writes
	w.writes = nil
	return writes
}

func (w *world) create(name, deployment string, replicas int32) {
	w.t.Helper()
	_, err := w.foos.Create(w.t.Context(), &v1alpha1.Foo{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.FooSpec{DeploymentName: deployment, Replicas: &replicas}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func (w *world) edit(name string, edit func(foo *v1alpha1.Foo)) {
	w.t.Helper()
	foo := w.foo(name)
	edit(foo)
	_, err := w.foos.Update(w.t.Context(), foo, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func (w *world) foo(name string) *v1alpha1.Foo {
	w.t.Helper()
	foo, err := w.foos.Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return foo
}

func (w *world) deployment(name string) *appsv1.Deployment {
	w.t.Helper()
	d, err := w.kube.AppsV1().Deployments("default").Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return d
}

func (w *world) events() []corev1.Event {
	w.t.Helper()
	list, err := w.kube.CoreV1().Events("default").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	return list.Items
}
