package operator

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/leaderelection"
)

// leaderMetrics have the names of Kubernetes' own components. client-go takes one provider for the process.
type leaderMetrics struct {
	leader   *prometheus.GaugeVec
	slowpath *prometheus.CounterVec
}

var leadership = newLeaderMetrics()

func newLeaderMetrics() leaderMetrics {
	label := []string{"name"}
	m := leaderMetrics{
		leader: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "leader_election_master_status", Help: "1 in the replica that holds the lease, 0 in the others.",
		}, label),
		slowpath: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "leader_election_slowpath_total", Help: "Renewals of the lease that had to read it first.",
		}, label),
	}
	leaderelection.SetProvider(m)
	return m
}

// NewLeaderMetric is called by client-go.
func (m leaderMetrics) NewLeaderMetric() leaderelection.LeaderMetric { return m }

// On is called when this process gets the lease.
func (m leaderMetrics) On(name string) { m.leader.WithLabelValues(name).Set(1) }

// Off is called at the start, and when the lease is lost.
func (m leaderMetrics) Off(name string) { m.leader.WithLabelValues(name).Set(0) }

// SlowpathExercised is called when a renewal had to read the lease.
func (m leaderMetrics) SlowpathExercised(name string) { m.slowpath.WithLabelValues(name).Inc() }
