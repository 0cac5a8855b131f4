// Package reconcile is exercise 08. Its README says what to do.
package reconcile

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"glasswatch/controller/ingress"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

func TestMain(m *testing.M) {
	klog.SetLogger(funcr.New(problems.note, funcr.Options{}))
	goleak.VerifyTestMain(m)
}

// problems keeps the first error that is logged: of a reconcile that is tried again and again, the others say the same.
var problems firstError

type firstError struct {
	mu   sync.Mutex // protects text
	text string
}

func (e *firstError) note(_, line string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.text == "" && strings.Contains(line, `"error"=`) {
		e.text = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(line) // a stack is in there
	}
}

// take returns what was noted, and begins anew.
func (e *firstError) take() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := e.text
	e.text = ""
	return text
}

// cluster is an API server in which the ingress controller runs.
type cluster struct{ *apiservertest.Server }

func newCluster(t *testing.T) cluster {
	problems.take()
	t.Cleanup(func() {
		if problem := problems.take(); t.Failed() && problem != "" {
			t.Logf("the first error in the log: %s", problem)
		}
	})
	server := apiservertest.Start(t, apiserver.Options{})
	controller, err := ingress.New(server.Config, ingress.Options{Config: ingress.Config{
		AnnotationPrefix: ingress.DefaultAnnotationPrefix, Class: ingress.DefaultClass, Host: ingress.DefaultHost,
	}})
	require.NoError(t, err)
	apiservertest.Go(t, controller.Run)
	synctest.Wait()
	return cluster{server}
}

// Service puts a Service named web with these annotations: "http", "true", "host", "shop.example.com".
func (c cluster) Service(annotations ...string) {
	c.Helper()
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	for i := 0; i < len(annotations); i += 2 {
		svc.Annotations["ingress/"+annotations[i]] = annotations[i+1]
	}
	services := c.Client.CoreV1().Services("default")
	_, err := services.Update(c.Context(), svc, metav1.UpdateOptions{})
	if err != nil {
		_, err = services.Create(c.Context(), svc, metav1.CreateOptions{})
	}
	require.NoError(c, err)
}

func (c cluster) DeleteService() {
	c.Helper()
	require.NoError(c, c.Client.CoreV1().Services("default").Delete(c.Context(), "web", metav1.DeleteOptions{}))
}

// ByHand creates an Ingress named web without an owner.
func (c cluster) ByHand() {
	c.Helper()
	_, err := c.Client.NetworkingV1().Ingresses("default").Create(c.Context(), &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "by.hand"}}},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
}

// Hosts wants Ingresses for these hosts, and no others, once all has settled.
func (c cluster) Hosts(want ...string) {
	c.Helper()
	<-time.After(time.Minute)
	synctest.Wait()
	list, err := c.Client.NetworkingV1().Ingresses("default").List(c.Context(), metav1.ListOptions{})
	require.NoError(c, err)
	var got []string
	for _, ing := range list.Items {
		for _, rule := range ing.Spec.Rules {
			got = append(got, rule.Host)
		}
	}
	require.Equal(c, strings.Join(want, ", "), strings.Join(got, ", "), "hosts of the Ingresses in the cluster")
}

// Warnings returns the reasons of the Events.
func (c cluster) Warnings() string {
	c.Helper()
	list, err := c.Client.CoreV1().Events("default").List(c.Context(), metav1.ListOptions{})
	require.NoError(c, err)
	var reasons []string
	for _, e := range list.Items {
		reasons = append(reasons, fmt.Sprintf("%s %s", e.Type, e.Reason))
	}
	return strings.Join(reasons, ", ")
}

func TestReconcile(t *testing.T) {
	act := func(name string, tell func(c cluster)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { tell(newCluster(t)) }) })
	}
	act("1 a Service that asks for it has an Ingress", func(c cluster) {
		c.Service("http", "true", "host", "shop.example.com")
		c.Hosts("shop.example.com")
	})
	act("2 one that does not has none", func(c cluster) {
		c.Service()
		c.Hosts()
		c.Service("http", "false")
		c.Hosts()
	})
	act("3 the Ingress follows the Service, and goes when it is not asked for any more", func(c cluster) {
		c.Service("http", "true")
		c.Hosts("example.com")
		c.Service("http", "true", "host", "shop.example.com")
		c.Hosts("shop.example.com")
		c.Service("http", "false")
		c.Hosts()
	})
	act("4 what cannot be given is told, and the last good Ingress stays", func(c cluster) {
		c.Service("http", "true", "host", "shop.example.com")
		c.Hosts("shop.example.com")
		c.Service("http", "true", "host", "no host!")
		c.Hosts("shop.example.com")
		require.Equal(c, "Warning InvalidHost", c.Warnings())
	})
	act("5 an Ingress of somebody else is left alone", func(c cluster) {
		c.ByHand()
		c.Service("http", "true")
		c.Hosts("by.hand")
		c.Service()
		c.Hosts("by.hand")
	})
	act("6 of a deleted Service the garbage collector takes the Ingress", func(c cluster) {
		c.Service("http", "true")
		c.Hosts("example.com")
		c.DeleteService()
		c.Hosts()
		c.Service("http", "true")
		c.Hosts("example.com")
	})
}
