package chaos

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// realSchedules are as many as fit into a minute.
const realSchedules = 16

// The same on the real API server, in real time, with the faults of the proxy, of handlers and of disks.
func chaosReal(t *testing.T, cfg *rest.Config) {
	var all tally
	var wg sync.WaitGroup
	for i := range uint64(realSchedules) {
		s := draw(*firstSeed/4*4 + i + i/2*2) // not the facade, whose waits cannot be shortened; the rest rotates
		wg.Go(func() {                        // not parallel ones: they wait most of the time, and -parallel would hold them up
			t.Run(fmt.Sprintf("seed=%d", s.seed), func(t *testing.T) {
				if err := newRealWorld(t, s, &all, rest.CopyConfig(cfg)).play(); err != nil {
					t.Errorf("%v\nreplay: go test ./tests/chaos -run '^TestChaos$/^real$/seed=%d$' -chaos.from=%d", err, s.seed, *firstSeed)
				}
			})
		})
	}
	wg.Wait()
	t.Logf("%d schedules\n%s", realSchedules, all.String())
}

// newRealWorld is a world in one namespace of a real API server.
func newRealWorld(t *testing.T, s schedule, all *tally, config *rest.Config) *world {
	w := &world{t: t, s: s, all: all, began: time.Now(), calm: make(chan struct{}), settled: func() {}}
	w.patience, w.pace = time.Minute, 100
	w.scope = fmt.Sprintf("chaos-%d", s.seed)

	tls, err := rest.TLSConfigFor(config)
	require.NoError(t, err)
	own := &http.Transport{TLSClientConfig: tls, ForceAttemptHTTP2: true, DisableCompression: true}
	t.Cleanup(own.CloseIdleConnections)
	transport, err := rest.HTTPWrappersForConfig(config, own)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.connect(config.Host, transport, listener, (&net.Dialer{}).DialContext)
	_, err = w.direct.CoreV1().Namespaces().Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.scope}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return w
}
