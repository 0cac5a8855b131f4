package rivals

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"glasswatch/workqueue"
)

type queue = clientgo.TypedRateLimitingInterface[types.NamespacedName]

// The queues have no metrics: controller-runtime's has none without a name.
var queues = []struct {
	impl string
	make func() queue
}{
	{"glasswatch", func() queue {
		return workqueue.NewRateLimiting(workqueue.Options[types.NamespacedName]{})
	}},
	{"controller-runtime", func() queue { return priorityqueue.New[types.NamespacedName]("") }},
}

func queueKeys(n int) []types.NamespacedName {
	keys := make([]types.NamespacedName, n)
	for i := range keys {
		keys[i] = types.NamespacedName{Namespace: fmt.Sprintf("namespace-%d", i%10), Name: fmt.Sprintf("pod-%d", i)}
	}
	return keys
}

// One op adds a key to an empty queue, gets it and is done with it, in one goroutine.
func BenchmarkAddGetDone(b *testing.B) {
	keys := queueKeys(1000)
	for _, side := range queues {
		b.Run("impl="+side.impl, func(b *testing.B) {
			q := side.make()
			defer q.ShutDown()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				q.Add(keys[i])
				key, shutdown := q.Get()
				if key != keys[i] || shutdown {
					b.Fatalf("got %v, shutdown %t", key, shutdown)
				}
				q.Done(key)
				i = (i + 1) % len(keys)
			}
		})
	}
}

func TestQueues_HandOutTheSameKeysInTheSameOrder(t *testing.T) {
	keys := queueKeys(5)
	for _, side := range queues {
		t.Run(side.impl, func(t *testing.T) {
			q := side.make()
			defer q.ShutDown()
			get := func() types.NamespacedName {
				key, shutdown := q.Get()
				require.False(t, shutdown)
				return key
			}
			for range 2 {
				for _, key := range keys {
					q.Add(key)
				}
			}
			first := get()
			assert.Equal(t, keys[0], first)
			q.Add(first) // comes back after Done
			q.Done(first)
			for _, key := range append(keys[1:], first) {
				got := get()
				assert.Equal(t, key, got)
				q.Done(got)
			}
			assert.Zero(t, q.Len())
		})
	}
}
