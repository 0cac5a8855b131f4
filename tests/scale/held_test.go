package scale

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/realserver"
)

// proxy holds the first update of a ConfigMap, also after its sender has given up, and can cut its client off from
// Leases.
type proxy struct {
	http.RoundTripper
	cut     atomic.Bool
	used    atomic.Bool
	held    chan struct{} // closed when the update is here
	release chan struct{} // close it to let the update go on
	answer  chan int      // what the server said to it
}

func (p *proxy) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.cut.Load() && strings.Contains(req.URL.Path, "/leases") {
		return nil, errCut
	}
	isUpdate := req.Method == http.MethodPut && strings.Contains(req.URL.Path, "/configmaps/")
	if !isUpdate || p.used.Swap(true) {
		return p.RoundTripper.RoundTrip(req)
	}
	late := req.Clone(context.WithoutCancel(req.Context()))
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	late.Body = body
	go func() {
		<-p.release
		status := 0
		if answer, err := p.RoundTripper.RoundTrip(late); err == nil {
			status = answer.StatusCode
			_ = answer.Body.Close()
		}
		p.answer <- status
	}()
	close(p.held)
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// A write that a proxy holds past its sender's Lease, and lets go after the shard's new owner has written, is refused.
func TestHeldWrite_IsRefusedAfterTheNewOwnerWrote(t *testing.T) {
	t.Run("in memory", func(t *testing.T) {
		apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) { holdAWrite(t, server.Config) })
	})
	realserver.Run(t, "real server", func(t *testing.T, cfg *rest.Config) { holdAWrite(t, cfg) })
}

func holdAWrite(t *testing.T, config *rest.Config) {
	p := &proxy{held: make(chan struct{}), release: make(chan struct{}), answer: make(chan int, 1)}
	first := rest.CopyConfig(config)
	first.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		p.RoundTripper = rt
		return p
	})
	ctx := t.Context()
	a, clientA, stopA := runMember(t, first, "a")
	_, err := clientA.CoreV1().ConfigMaps("default").Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cell"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	wrote := make(chan error, 1)
	go func() { wrote <- writeOnce(ctx, a, clientA, "first") }()
	<-p.held
	p.cut.Store(true)

	b, clientB, stopB := runMember(t, config, "b")
	require.NoError(t, writeOnce(ctx, b, clientB, "second"))
	require.ErrorIs(t, <-wrote, context.Canceled, "its sender was told to stop, and does not know of it")
	close(p.release)
	require.Equal(t, http.StatusConflict, <-p.answer)
	cell, err := clientB.CoreV1().ConfigMaps("default").Get(ctx, "cell", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "second", cell.Data["by"])
	stopA()
	stopB()
}

// runMember runs a member of a group with one shard.
func runMember(t *testing.T, config *rest.Config, identity string) (*shards.Member, *kubernetes.Clientset, func()) {
	httpClient, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfigAndClient(config, httpClient)
	require.NoError(t, err)
	m, err := shards.New(client.CoordinationV1(), shards.Options{
		Namespace: "default", Name: "held", Identity: identity, Shards: 1,
		LeaseDuration: 10 * time.Second, // on a real server it must not run out before the write
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return m, client, func() {
		stop()
		require.NoError(t, <-ended)
		httpClient.CloseIdleConnections()
	}
}

// writeOnce waits until the member holds the shard, reads the cell and writes it.
func writeOnce(ctx context.Context, m *shards.Member, client *kubernetes.Clientset, by string) error {
	for range 1200 {
		pinned, done, ok := m.Begin(ctx, 0)
		if !ok {
			pause(ctx, beat/20)
			continue
		}
		defer done()
		cell, err := client.CoreV1().ConfigMaps("default").Get(pinned, "cell", metav1.GetOptions{})
		if err != nil {
			return err
		}
		cell.Data = map[string]string{"by": by}
		_, err = client.CoreV1().ConfigMaps("default").Update(pinned, cell, metav1.UpdateOptions{})
		return err
	}
	return errors.New("the shard was not got in a minute")
}
