package cache

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/tools/cache"
)

// told is a metric, and a provider of three of itself.
type told struct{ queued, latency, version series }

type series struct{ values []float64 }

func (s *series) Set(v float64)     { s.values = append(s.values, v) }
func (s *series) Observe(v float64) { s.values = append(s.values, 0) }

func (m *told) NewQueuedItemMetric(InformerNameAndResource) GaugeMetric            { return &m.queued }
func (m *told) NewProcessingLatencyMetric(InformerNameAndResource) HistogramMetric { return &m.latency }
func (m *told) NewStoreResourceVersionMetric(InformerNameAndResource) GaugeMetric  { return &m.version }

func TestMetrics_OfStoresAndQueuesAreClientGos(t *testing.T) {
	name, err := clientgo.NewInformerName("metrics of stores and queues")
	require.NoError(t, err)
	defer name.Release()
	play := func(resource string, store func(id InformerNameAndResource, p InformerMetricsProvider) Store, queue func(RealFIFOOptions) batchQueue) *told {
		m := &told{}
		id := name.WithResource(schema.GroupVersionResource{Resource: resource})
		s := store(id, m)
		require.NoError(t, s.Add(named("x")))
		s.Bookmark("123456789012345678")
		s.Bookmark("no number")
		require.NoError(t, s.Replace(nil, ""))
		q := queue(RealFIFOOptions{Identifier: id, MetricsProvider: m, AtomicEvents: true})
		require.Equal(t, "metrics of stores and queues", q.Name())
		require.NoError(t, q.Add(named("x")))
		require.NoError(t, q.Resync())
		_, err := q.Pop(ignore)
		require.NoError(t, err)
		return m
	}
	theirs := play("theirs", func(id InformerNameAndResource, p InformerMetricsProvider) Store {
		return clientgo.NewStore(keyOfPod, clientgo.WithStoreMetrics(id, p))
	}, clientGoStorage.realFIFO)
	ours := play("ours", func(id InformerNameAndResource, p InformerMetricsProvider) Store {
		return NewStore(keyOfPod, WithStoreMetrics(id, p))
	}, ourStorage.realFIFO)
	require.Equal(t, theirs.version, ours.version)
	require.Equal(t, theirs.latency, ours.latency)
	require.Equal(t, theirs.queued, ours.queued)
	require.Equal(t, []float64{1, 456789012345678, 0}, ours.version.values)
}

// clientGos is the provider that client-go has: it takes one for the life of the process.
var clientGos told

func TestSetInformerMetricsProvider_IsNotClientGos(t *testing.T) {
	clientgo.SetInformerMetricsProvider(&clientGos)
	name, err := clientgo.NewInformerName("metrics of client-go's provider")
	require.NoError(t, err)
	defer name.Release()
	id := func(resource string) InformerNameAndResource {
		return name.WithResource(schema.GroupVersionResource{Resource: resource})
	}
	clientGos.version.values = nil
	NewStore(keyOfPod, WithStoreMetrics(id("ours"), nil)).Bookmark("1")
	require.Empty(t, clientGos.version.values)
	clientgo.NewStore(keyOfPod, clientgo.WithStoreMetrics(id("theirs"), nil)).Bookmark("2")
	require.Contains(t, clientGos.version.values, 2.0)
}
