// Package metrics shows to Prometheus how a member of a group of shards fares.
//
//	shards_held                   how many shards this member holds
//	shards_gained_total           how many it has got, and
//	shards_lost_total             how many it has let go: shards that moved
//	shards_unowned_seconds        how long nobody could reconcile the keys of a shard that was got, its list included
//	shards_lag_seconds            how much of that was since this member got it
//	shards_foreign_objects_total  how many objects of other shards the server sent, which were dropped
//	shards_objects                how many objects the stores have
//	shards_largest_objects        and how many of them are in the largest shard
//
// All have the label group. If objects of other shards go on coming, the server does not know shards: each member is
// sent everything. If the largest shard has most of the objects, more members help little. It may be one namespace,
// which cannot be divided, or many whose names the server's hash does not spread: team-000 to team-199 fall into two of
// 256 shards.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"glasswatch/controller/shards/follow"
)

// Register registers the metrics of a member in the group of that name, and returns the hooks that feed them. onForeign
// is for the member's clients: see [glasswatch/listwatch.Options]. count returns how many objects the stores have, and
// how many of them are in the largest shard; it is called for each scrape. It may be nil.
func Register(
	reg prometheus.Registerer, group string, count func() (objects, largest int),
) (hooks follow.Metrics, onForeign func(), err error) {
	labels := prometheus.Labels{"group": group}
	held := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "shards_held", Help: "Shards that this member holds.", ConstLabels: labels})
	gained := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "shards_gained_total", Help: "Shards that this member has got.", ConstLabels: labels})
	lost := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "shards_lost_total", Help: "Shards that this member has let go.", ConstLabels: labels})
	seconds := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name, Help: help, ConstLabels: labels, Buckets: prometheus.ExponentialBuckets(0.01, 2, 13)})
	}
	unowned := seconds("shards_unowned_seconds", "How long nobody could reconcile a shard that this member got.")
	lag := seconds("shards_lag_seconds", "How long it took to list a shard after this member got it.")
	foreign := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "shards_foreign_objects_total", Help: "Objects of other shards that were sent here and dropped.",
		ConstLabels: labels})
	all := []prometheus.Collector{held, gained, lost, unowned, lag, foreign}
	if count != nil {
		all = append(all, sizes{count,
			prometheus.NewDesc("shards_objects", "Objects that this member's stores have.", nil, labels),
			prometheus.NewDesc("shards_largest_objects", "Objects of the largest shard among them.", nil, labels)})
	}
	for _, c := range all {
		if err := reg.Register(c); err != nil {
			return follow.Metrics{}, nil, err
		}
	}
	return follow.Metrics{
		Changed: func(n, got, gone int) {
			held.Set(float64(n))
			gained.Add(float64(got))
			lost.Add(float64(gone))
		},
		Listed: func(idle, behind time.Duration) {
			unowned.Observe(idle.Seconds())
			lag.Observe(behind.Seconds())
		},
	}, foreign.Inc, nil
}

// sizes counts once for both of its metrics, because that looks at each object.
type sizes struct {
	count            func() (objects, largest int)
	objects, largest *prometheus.Desc
}

func (s sizes) Describe(ch chan<- *prometheus.Desc) { ch <- s.objects; ch <- s.largest }

func (s sizes) Collect(ch chan<- prometheus.Metric) {
	objects, largest := s.count()
	ch <- prometheus.MustNewConstMetric(s.objects, prometheus.GaugeValue, float64(objects))
	ch <- prometheus.MustNewConstMetric(s.largest, prometheus.GaugeValue, float64(largest))
}
