package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/operator"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// town is a cluster whose Services change all the time, and the replicas of a Deployment, in virtual time.
type town struct {
	*apiservertest.Server
	replicas  []*replica // the oldest first
	started   int
	withdrawn int // how many Services ask for no Ingress any more

	mu     sync.Mutex
	writes []written // guarded by mu
}

// written is a write of an Ingress: from before it was sent until after it was answered.
type written struct {
	mode       string
	from, upTo time.Time
}

// replica is one run of the whole program.
type replica struct {
	mode  string
	ctl   operator.Controller
	reg   prometheus.Registerer
	stop  func()
	ended chan struct{} // closed at the end
	err   error
}

func inTown(t *testing.T, play func(w *town)) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		w := &town{Server: server}
		defer func() { // also after a failure, for nothing may stay in the bubble
			for _, r := range w.replicas {
				r.stop()
				<-r.ended
			}
		}()
		play(w)
	})
}

// start runs the program. mode is what its writes are noted under.
func (w *town) start(mode string, args ...string) *replica {
	w.Helper()
	w.started++
	args = append(args, "--metrics-addr=", "--health-addr=", "--leader-elect-namespace=default")
	if strings.HasPrefix(mode, "shards") && !slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, "--shard-identity")
	}) {
		args = append(args, fmt.Sprintf("--shard-identity=pod-%d", w.started))
	}
	o, err := parse(args, io.Discard)
	require.NoError(w, err)
	ctx, stop := context.WithCancel(context.Background())
	r := &replica{mode: mode, stop: stop, ended: make(chan struct{})}
	cfg := rest.CopyConfig(w.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return w.noted(mode, next) })
	begun := make(chan struct{})
	go func() {
		defer close(r.ended)
		r.err = operator.Run(ctx, cfg, &o.Flags, operator.Program{Name: "ingress-controller",
			New: func(cfg *rest.Config, p operator.Parts) (_ operator.Controller, err error) {
				defer close(begun)
				r.reg = p.Registerer
				r.ctl, err = newController(ctx, cfg, o, p)
				return r.ctl, err
			}})
	}()
	<-begun
	require.NotNil(w, r.ctl)
	w.replicas = append(w.replicas, r)
	return r
}

// noted delays writes of Ingresses, and notes them.
func (w *town) noted(mode string, next http.RoundTripper) http.RoundTripper {
	return apiservertest.RoundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodGet || !strings.Contains(req.URL.Path, "/ingresses") {
			return next.RoundTrip(req)
		}
		began := time.Now()
		<-time.After(200 * time.Millisecond)
		answer, err := next.RoundTrip(req)
		<-time.After(200 * time.Millisecond)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.writes = append(w.writes, written{mode, began, time.Now()})
		return answer, err
	})
}

const shops, each = 12, 3

// settle makes namespaces with Services that ask for an Ingress.
func (w *town) settle() {
	for n := range shops {
		ns := fmt.Sprintf("%c-shop", 'a'+n)
		require.NoError(w, w.SeedNamespaces(ns))
		for s := range each {
			_, err := w.Client.CoreV1().Services(ns).Create(context.Background(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("s%d", s), Annotations: map[string]string{"ingress/http": "true"},
				},
				Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}},
			}, metav1.CreateOptions{})
			require.NoError(w, err)
		}
	}
}

// live changes Services, or deletes their Ingresses, for so long. It leaves the last one of each shop alone.
func (w *town) live(d time.Duration) {
	w.Helper()
	ctx := context.Background()
	for end := time.Now().Add(d); time.Now().Before(end); <-time.After(300 * time.Millisecond) {
		ns, name := fmt.Sprintf("%c-shop", 'a'+rand.N(shops)), fmt.Sprintf("s%d", rand.N(each-1))
		if rand.N(4) == 0 {
			_ = w.Client.NetworkingV1().Ingresses(ns).Delete(ctx, name, metav1.DeleteOptions{})
			continue
		}
		svc, err := w.Client.CoreV1().Services(ns).Get(ctx, name, metav1.GetOptions{})
		require.NoError(w, err)
		svc.Spec.Ports[0].Port = 80 + rand.Int32N(1000)
		_, err = w.Client.CoreV1().Services(ns).Update(ctx, svc, metav1.UpdateOptions{})
		require.NoError(w, err)
	}
}

// withdraw lets the last Service of another shop ask for no Ingress.
func (w *town) withdraw() {
	w.Helper()
	services := w.Client.CoreV1().Services(fmt.Sprintf("%c-shop", 'a'+w.withdrawn))
	w.withdrawn++
	svc, err := services.Get(context.Background(), fmt.Sprintf("s%d", each-1), metav1.GetOptions{})
	require.NoError(w, err)
	svc.Annotations["ingress/http"] = "false"
	_, err = services.Update(context.Background(), svc, metav1.UpdateOptions{})
	require.NoError(w, err)
}

// exact wants each Service that asks for an Ingress to have it, and no other Ingresses.
func (w *town) exact() {
	w.Helper()
	services, err := w.Client.CoreV1().Services("").List(context.Background(), metav1.ListOptions{})
	require.NoError(w, err)
	ingresses, err := w.Client.NetworkingV1().Ingresses("").List(context.Background(), metav1.ListOptions{})
	require.NoError(w, err)
	ports := map[string]int32{}
	for _, ing := range ingresses.Items {
		ports[ing.Namespace+"/"+ing.Name] = ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port.Number
	}
	asked := map[string]int32{}
	for _, svc := range services.Items {
		if svc.Annotations["ingress/http"] == "true" {
			asked[svc.Namespace+"/"+svc.Name] = svc.Spec.Ports[0].Port
		}
	}
	require.Equal(w, asked, ports)
}
