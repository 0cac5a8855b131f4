package workqueue_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/util/workqueue"

	"glasswatch/compat/workqueue"
)

// What is made here is what client-go's users ask for; this need only compile.
var (
	_ clientgo.TypedInterface[string]             = workqueue.NewTyped[string]()
	_ clientgo.TypedDelayingInterface[string]     = workqueue.NewTypedDelayingQueue[string]()
	_ clientgo.TypedRateLimitingInterface[string] = workqueue.NewTypedRateLimitingQueue(
		clientgo.DefaultTypedItemBasedRateLimiter[string]())
	_ clientgo.TypedRateLimiter[string] = (*workqueue.TypedBucketRateLimiter[string])(nil)
	_ clientgo.TypedRateLimiter[string] = (*workqueue.TypedItemExponentialFailureRateLimiter[string])(nil)
	_ clientgo.TypedRateLimiter[string] = (*workqueue.TypedItemFastSlowRateLimiter[string])(nil)
	_ clientgo.TypedRateLimiter[string] = (*workqueue.TypedMaxOfRateLimiter[string])(nil)
	_ clientgo.TypedRateLimiter[string] = (*workqueue.TypedWithMaxWaitRateLimiter[string])(nil)
	_ clientgo.Queue[string]            = workqueue.DefaultQueue[string]()
	_ clientgo.TypedQueueConfig[string] = workqueue.TypedQueueConfig[string]{}
	_ clientgo.DoWorkPieceFunc          = workqueue.DoWorkPieceFunc(nil)
)

// request and options have the shapes of controller-runtime's reconcile.Request and controller.Options.
type request struct{ types.NamespacedName }

type requestQueue = clientgo.TypedRateLimitingInterface[request]

type options struct {
	RateLimiter clientgo.TypedRateLimiter[request]
	NewQueue    func(name string, limiter clientgo.TypedRateLimiter[request]) requestQueue
}

// prioritized is what controller-runtime's priority queue offers beyond the contract, here found by assertion.
type prioritized interface {
	AddWithPriority(item request, priority int)
	GetWithPriority() (item request, priority int, shutdown bool)
}

func TestInterop_AControllerOfOthersRunsOnOurQueue(t *testing.T) {
	opts := options{
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[request](time.Millisecond, time.Second),
		NewQueue: func(name string, limiter clientgo.TypedRateLimiter[request]) requestQueue {
			config := workqueue.TypedRateLimitingQueueConfig[request]{Name: name}
			return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config)
		},
	}
	named := func(name string) request { return request{types.NamespacedName{Namespace: "default", Name: name}} }
	var mu sync.Mutex
	tries := map[request]int{}
	reconcile := func(r request) (again bool) {
		mu.Lock()
		defer mu.Unlock()
		tries[r]++
		return r.Name == "flaky" && tries[r] < 3
	}

	// From here on, nothing but client-go's types.
	var queue clientgo.TypedRateLimitingInterface[request] = opts.NewQueue("demo", opts.RateLimiter)
	var workers sync.WaitGroup
	settled := make(chan struct{}, 2)
	for range 2 {
		workers.Go(func() {
			for {
				r, shutdown := queue.Get()
				if shutdown {
					return
				}
				if reconcile(r) {
					queue.AddRateLimited(r)
				} else {
					queue.Forget(r)
					settled <- struct{}{}
				}
				queue.Done(r)
			}
		})
	}
	queue.Add(named("flaky"))
	queue.Add(named("steady"))
	<-settled
	<-settled
	queue.ShutDownWithDrain()
	workers.Wait()
	require.Equal(t, map[request]int{named("flaky"): 3, named("steady"): 1}, tries)
	require.Zero(t, queue.NumRequeues(named("flaky")))

	p, ok := opts.NewQueue("priorities", opts.RateLimiter).(prioritized)
	require.True(t, ok)
	p.AddWithPriority(named("initial"), -100)
	p.AddWithPriority(named("live"), 0)
	r, _, _ := p.GetWithPriority()
	require.Equal(t, named("live"), r)
}

func TestInterop_ClientGosQueueTakesOurLimiterAndOurStorage(t *testing.T) {
	q := clientgo.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedMaxOfRateLimiter(
			clientgo.DefaultTypedItemBasedRateLimiter[string](),
			workqueue.DefaultTypedControllerRateLimiter[string]()),
		workqueue.TypedRateLimitingQueueConfig[string]{
			DelayingQueue: clientgo.NewTypedDelayingQueueWithConfig(clientgo.TypedDelayingQueueConfig[string]{
				Queue: workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{
					Queue: workqueue.DefaultQueue[string](),
				}),
			}),
		})
	defer q.ShutDown()
	q.AddRateLimited("a")
	require.Equal(t, 1, q.NumRequeues("a"))
	item, shutdown := q.Get()
	require.False(t, shutdown)
	require.Equal(t, "a", item)
	q.Done(item)
}
