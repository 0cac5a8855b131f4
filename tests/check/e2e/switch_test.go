package e2e

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"glasswatch/tests/check/controlplane"
	"glasswatch/tests/check/manifests"
)

// record is what passes the proxies of a Deployment's replicas: writes of Ingresses, by mode.
type record struct {
	mu     sync.Mutex
	writes []write // guarded by mu
}

// write is from before it reached the API server until after it was answered.
type write struct {
	mode       string
	from, upTo time.Time
}

// proxied is the kubeconfig of the controller's service account, by way of a proxy that notes writes in r.
func (c *cluster) proxied(t *testing.T, r *record, mode string) string {
	t.Helper()
	cfg := c.plane.Config(controlplane.Admin)
	transport, err := rest.TransportFor(cfg)
	require.NoError(t, err)
	target, err := url.Parse(cfg.Host)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport, FlushInterval: -1, // a watch is passed on at once
		ErrorLog: log.New(io.Discard, "", 0), // of clients that end
	}
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
		began := time.Now()
		proxy.ServeHTTP(answer, req)
		if req.Method != http.MethodGet && strings.Contains(req.URL.Path, "/ingresses") {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.writes = append(r.writes, write{mode, began, time.Now()})
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	kubeconfig, err := clientcmd.LoadFromFile(c.kubeconfigOf(t, manifests.Namespace))
	require.NoError(t, err)
	for _, cluster := range kubeconfig.Clusters {
		cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = server.URL, "", nil
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*kubeconfig, path))
	return path
}

// grows waits for more writes: somebody is at work.
func (r *record) grows(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	before := len(r.writes)
	r.mu.Unlock()
	eventually(t, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.writes) < before+10 {
			return errors.New("nobody works")
		}
		return nil
	})
}

func (r *record) count(mode string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.writes {
		if w.mode == mode {
			n++
		}
	}
	return n
}

// neverTwo wants the first write of the mode to begin after the last one of those before was answered, and forgets
// them all.
func (r *record) neverTwo(t *testing.T, mode string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var last, first time.Time
	others := 0
	for _, w := range r.writes {
		switch {
		case w.mode != mode:
			others++
			if w.upTo.After(last) {
				last = w.upTo
			}
		case first.IsZero() || w.from.Before(first):
			first = w.from
		}
	}
	t.Logf("%d writes by the former mode, and %s after them %d by %s",
		others, first.Sub(last).Round(time.Millisecond), len(r.writes)-others, mode)
	require.NotZero(t, others)
	require.False(t, first.Before(last), "two modes wrote at one time")
	r.writes = nil
}

// The Deployment goes from one leader to shards, to another number of shards, and back, each by `kubectl apply` and a
// rolling update in a storm. At no time do two modes write, and nothing is lost. Rights are those of deploy/ at each
// moment: those of deploy/cluster are applied while replicas with shards still run.
func TestSwitch_RollingUpdatesInAStormNeverLetTwoModesWrite(t *testing.T) {
	c, err := newCluster(controlplane.StartGated(t, "ShardedListAndWatch=true"))
	require.NoError(t, err)
	stages := []*stage{{c, t, c.namespace(t, "red")}, {c, t, c.namespace(t, "green")}}
	r, started := &record{}, 0
	launch := func(way, mode string, args ...string) *process {
		args = append(deployedArgs(t, way, manifests.Namespace), args...)
		if way == manifests.Sharded {
			args = append(args, fmt.Sprintf("--shard-identity=pod-%d", started), "--leader-elect-lease-duration=12s")
		}
		started++
		return start(t, c.proxied(t, r, mode), args...)
	}
	c.install(t, manifests.Cluster, manifests.Namespace)
	var replicas []*process
	for range 3 {
		replicas = append(replicas, launch(manifests.Cluster, "leader", steadyLease...))
	}
	for _, step := range []struct {
		way, mode string
		args      []string
	}{
		{manifests.Sharded, "32 shards", []string{"--shards=32"}},
		{manifests.Sharded, "64 shards", []string{"--shards=64"}},
		{manifests.Cluster, "leader", steadyLease},
	} {
		var storms []*storm
		for _, s := range stages {
			storms = append(storms, s.storm())
		}
		storms[0].await(60)
		c.install(t, step.way, manifests.Namespace)
		for left := len(replicas) - 1; left >= 0; left-- {
			added := launch(step.way, step.mode, step.args...)
			eventually(t, added.ready)
			replicas[0].terminate()
			replicas = append(replicas[1:], added)
			if left > 0 {
				r.grows(t)
			}
		}
		eventually(t, func() error {
			if n := r.count(step.mode); n < 30 {
				return fmt.Errorf("%s: %d writes", step.mode, n)
			}
			return nil
		})
		for _, w := range storms {
			w.calm()
		}
		for _, p := range replicas {
			eventually(t, p.ready)
		}
		r.neverTwo(t, step.mode)
	}
}
