package userasks

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	"glasswatch/workqueue"
)

// A controller starts in a big cluster: ten thousand objects are in its first list. A user changes an object, and
// waits.
func TestALiveChangeIsServedBeforeTheInitialList(t *testing.T) {
	const objects = 10_000
	// waits counts what is taken before the live change.
	waits := func(q interface{ Get() (string, bool) }) (n int) {
		for {
			if item, _ := q.Get(); item == "live" {
				return n
			}
			n++
		}
	}
	clientGo(t, func(t *testing.T) {
		q := clientgo.NewTyped[string]()
		for i := range objects {
			q.Add(strconv.Itoa(i))
		}
		q.Add("live")
		// The order can be replaced (TypedQueueConfig.Queue), but neither its Push nor Add gets the priority of an
		// item. controller-runtime has a priority queue of its own for that.
		require.Equal(t, objects, waits(q))
		q.ShutDown()
	})
	glasswatch(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{})
		for i := range objects {
			q.AddWithPriority(strconv.Itoa(i), -100)
		}
		q.Add("live")
		require.Equal(t, 0, waits(q))

		// What waits already is raised, not queued twice.
		q.Done("live")
		q.AddWithPriority("9999", 1)
		item, priority, _ := q.GetWithPriority()
		require.Equal(t, "9999", item)
		require.Equal(t, 1, priority)
		require.Equal(t, objects-1, q.Len())
		q.ShutDown()
	})
}
