package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/tests/check/controlplane"
	"glasswatch/tests/check/manifests"
)

// The control plane goes down in mid-storm, and comes back. The lease is long enough to outlive that; a leader that
// cannot renew is the subject of another test.
func TestRestart_OfTheAPIServerAndOfEtcdInAStormLosesNothing(t *testing.T) {
	t.Parallel()
	plane := controlplane.StartSplit(t)
	c, err := newCluster(plane)
	require.NoError(t, err)
	c.install(t, manifests.Cluster, manifests.Namespace)
	args := append(deployedArgs(t, manifests.Cluster, manifests.Namespace),
		"--leader-elect-lease-duration=300s", "--leader-elect-renew-deadline=200s")
	p := start(t, plane.Kubeconfig(controlplane.Controller), args...)
	eventually(t, p.ready)
	s := &stage{c, t, c.namespace(t, "restart")}
	w := s.storm()
	began := time.Now()
	lap := func(what string) { t.Logf("%6s %s", time.Since(began).Round(100*time.Millisecond), what) }
	for _, part := range []struct {
		name  string
		kill  func()
		start func() error
	}{
		{"API server", plane.KillAPIServer, plane.StartAPIServer},
		{"etcd", plane.KillEtcd, plane.StartEtcd},
	} {
		w.await(60)
		lap(part.name + " is killed")
		part.kill()
		w.stalls()
		if part.name == "API server" { // without etcd its watches stay open, and are silent
			eventually(t, func() error { return p.unready("not up to date") })
		}
		code, _, err := p.get("health", "/healthz")
		require.NoError(t, err)
		require.Equal(t, 200, code, "waiting for the %s is no reason to be restarted", part.name)
		lap("it was missed")
		require.NoError(t, part.start())
		lap("it is back")
		eventually(t, p.ready)
		lap("the controller is ready again")
		w.await(60)
		require.True(t, p.alive(), "one process lived through the end of the %s", part.name)
	}
	lap("the storm ends")
	w.calm()
	lap("all is right")
	require.True(t, p.alive())
	eventually(t, p.ready)
}
