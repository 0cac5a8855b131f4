package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/tests/check/manifests"
)

// deployment is a namespace with the namespaced way installed, and two replicas at work in it.
type deployment struct {
	*stage
	leader, standby *process
}

func (c *cluster) deployTwo(t *testing.T, args ...string) *deployment {
	t.Helper()
	d := &deployment{stage: &stage{c, t, c.namespace(t, "replicas")}}
	c.install(t, manifests.Namespaced, d.ns)
	args = append(deployedArgs(t, manifests.Namespaced, d.ns), args...)
	d.leader = start(t, c.kubeconfigOf(t, d.ns), args...)
	eventually(t, func() error { return d.leader.leads(1) })
	d.standby = start(t, c.kubeconfigOf(t, d.ns), args...)
	eventually(t, d.leader.ready)
	eventually(t, d.standby.ready)
	require.NoError(t, d.standby.leads(0))
	return d
}

// leads wants the leader's gauge to be 1, or 0.
func (p *process) leads(want float64) error {
	got, err := p.metric("leader_election_master_status")
	if err == nil && got != want {
		err = fmt.Errorf("leader_election_master_status: want %v, got %v", want, got)
	}
	return err
}

// tookOver waits until the standby leads, and gives how long that took.
func (d *deployment) tookOver() time.Duration {
	d.t.Helper()
	began := time.Now()
	eventually(d.t, func() error { return d.standby.leads(1) })
	return time.Since(began)
}

// idle wants the standby to have done nothing.
func (d *deployment) idle() {
	d.t.Helper()
	require.NoError(d.t, d.standby.leads(0))
	require.Error(d.t, d.standby.said("Wrote Ingress"))
	require.Error(d.t, d.standby.said("Starting workers"))
	eventually(d.t, d.standby.ready)
}

func TestReplicas_OneWritesAndWhenItIsKilledInAStormTheOtherLosesNothing(t *testing.T) {
	t.Parallel()
	d := onSharedPlane(t).deployTwo(t, steadyLease...)
	w := d.storm()
	w.await(100)
	eventually(t, func() error { return d.leader.said("Wrote Ingress") })
	d.idle()
	d.leader.kill()
	t.Logf("took over %s after SIGKILL, with a lease of 30s", d.tookOver().Round(time.Millisecond))
	w.await(100)
	w.calm()
}

func TestReplicas_ALeaderThatIsAskedToEndHandsOverAtOnce(t *testing.T) {
	t.Parallel()
	d := onSharedPlane(t).deployTwo(t, "--leader-elect-lease-duration=300s", "--leader-elect-renew-deadline=200s")
	w := d.storm()
	w.await(50)
	d.idle()
	d.leader.terminate()
	// The lease has minutes left: nobody would wait for that.
	t.Logf("took over %s after the leader's end on SIGTERM", d.tookOver().Round(time.Millisecond))
	w.await(50)
	w.calm()
	events, err := d.client.CoreV1().Events(d.ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=LeaderElection"})
	require.NoError(t, err)
	require.NotEmpty(t, events.Items)
	require.Contains(t, events.Items[0].Message, "became leader")
}

// Another client takes the lease: the old leader ends, with the exit code for that, and the other replica takes over
// when the thief's lease expires.
func TestReplicas_ALeaderThatLosesTheLeaseExits(t *testing.T) {
	t.Parallel()
	d := onSharedPlane(t).deployTwo(t, steadyLease...)
	leases := d.client.CoordinationV1().Leases(d.ns)
	eventually(t, func() error {
		lease, err := leases.Get(t.Context(), "ingress-controller", metav1.GetOptions{})
		if err != nil {
			return err
		}
		thief, now, seconds := "thief", metav1.NowMicro(), int32(5)
		lease.Spec.HolderIdentity, lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = &thief, &now, &seconds
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		return err
	})
	d.leader.ends()
	require.Equal(t, 1, d.leader.cmd.ProcessState.ExitCode())
	require.Contains(t, d.leader.log.String(), "the lease was lost")
	d.tookOver()
	d.service("web", asking)
	d.expect("web", defaultHost, 80)
	eventually(t, func() error { // the server has it before the writer says so
		if !strings.Contains(d.standby.log.String(), "Wrote Ingress") {
			return errors.New("the standby has not written it")
		}
		return nil
	})
}
