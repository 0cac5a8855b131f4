package userasks

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/workqueue"
)

// queue is what the scripts use of either side's queues.
type queue interface {
	Add(item string)
	AddAfter(item string, d time.Duration)
	Get() (item string, shutdown bool)
	Done(item string)
	ShutDown()
	ShutDownWithDrain()
}

// drain drains a queue in the background.
func drain(q queue) (drained chan struct{}) {
	drained = make(chan struct{})
	go func() { defer close(drained); q.ShutDownWithDrain() }()
	synctest.Wait()
	return drained
}

func isDone(closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	default:
		return false
	}
}

// work does one item.
func work(q queue) string {
	item, _ := q.Get()
	q.Done(item)
	synctest.Wait()
	return item
}

// A controller must stop while its workers are slow. One item is queued, and another was delayed by a second, which is
// over. "Drain" promises that both are done when it returns.
func TestShutDownWithDrainReturnsWhenAllThatIsDueIsDone(t *testing.T) {
	fill := func(q queue) {
		q.Add("queued")
		q.AddAfter("due", time.Second)
		q.AddAfter("not due", time.Hour)
		apiservertest.Pass(2 * time.Second)
	}
	clientGo(t, func(t *testing.T) {
		q := clientgo.NewTypedDelayingQueue[string]()
		fill(q)
		// It waits only for items that a worker has taken. No worker has taken one, so it returns with two items
		// queued.
		require.True(t, isDone(drain(q)))
		require.Equal(t, 2, q.Len())
		q.ShutDown() // for the sake of the goroutine
	})
	glasswatch(t, func(t *testing.T) {
		q := workqueue.NewDelaying(workqueue.Options[string]{})
		fill(q)
		drained := drain(q)
		require.False(t, isDone(drained))
		require.Equal(t, "queued", work(q))
		require.False(t, isDone(drained), "one is left")
		require.Equal(t, "due", work(q))
		require.True(t, isDone(drained), "what is not due does not count")
	})
}

// A worker hangs. The caller of the drain must be able to give up, by ShutDown.
func TestShutDownEndsADrainThatNobodyWorksFor(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		q := clientgo.NewTypedDelayingQueue[string]()
		q.Add("hangs")
		q.Get()
		// The first ShutDown of a queue with delays ends a drain. A later one does nothing: here another goroutine
		// called ShutDown before the drain.
		q.ShutDown()
		drained := drain(q)
		q.ShutDown()
		apiservertest.Pass(time.Hour)
		require.False(t, isDone(drained))
		q.Done("hangs") // or else the goroutine would stay
		<-drained
	})
	glasswatch(t, func(t *testing.T) {
		q := workqueue.NewDelaying(workqueue.Options[string]{})
		q.Add("hangs")
		q.Get()
		q.ShutDown()
		drained := drain(q)
		require.False(t, isDone(drained))
		q.ShutDown()
		<-drained

		q = workqueue.NewDelaying(workqueue.Options[string]{})
		q.Add("nobody takes it")
		drained = drain(q)
		require.False(t, isDone(drained))
		q.ShutDown()
		<-drained
	})
}

// Two parts of a program drain the same queue, and the last item is done.
func TestEveryDrainReturns(t *testing.T) {
	both := func(q queue) (first, second chan struct{}) {
		q.Add("last")
		q.Get()
		first, second = drain(q), drain(q)
		q.Done("last")
		apiservertest.Pass(time.Hour)
		return first, second
	}
	clientGo(t, func(t *testing.T) {
		q := clientgo.NewTypedDelayingQueue[string]()
		first, second := both(q)
		// Done wakes one of the waiting goroutines.
		require.True(t, isDone(first) != isDone(second))
		q.ShutDown() // wakes all
		<-first
		<-second
	})
	glasswatch(t, func(t *testing.T) {
		first, second := both(workqueue.NewDelaying(workqueue.Options[string]{}))
		require.True(t, isDone(first) && isDone(second))
	})
}

// A test with goleak drains its queue and ends.
func TestNoGoroutineOutlivesADrain(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		q := clientgo.NewTypedDelayingQueue[string]()
		synctest.Wait() // its goroutine waits for a due item
		q.ShutDownWithDrain()
		// The drain is the embedded queue's. The goroutine of the delays is not signalled; it checks every ten seconds.
		synctest.Wait()
		require.True(t, isRunning("waitingLoop"))
		apiservertest.Pass(9 * time.Second)
		require.True(t, isRunning("waitingLoop"))
		apiservertest.Pass(2 * time.Second)
		require.False(t, isRunning("waitingLoop"))
	})
	glasswatch(t, func(t *testing.T) {
		q := workqueue.NewDelaying(workqueue.Options[string]{})
		q.AddAfter("later", time.Hour)
		q.ShutDownWithDrain()
		require.False(t, isRunning("glasswatch/workqueue."), "and there was none before: a timer is enough")
	})
}
