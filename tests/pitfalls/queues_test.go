package pitfalls

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"glasswatch/internal/apiserver/apiservertest"
)

var errBroken = errors.New("broken")

// A failed item is put back with AddRateLimited, and then forgotten at once.
//
// Why: Forget sets the item's count of failures to zero, so the backoff begins anew with every failure and never grows.
// Mostly the Forget stands at the end of the function, where success and failure both pass it, or in a defer.
//
// You see: an item that always fails: want at most 20 tries in a minute, got 701
//
// Instead: call Forget on success, AddRateLimited on failure, and never both.
func TestPitfall_ForgetAfterAddRateLimited(t *testing.T) {
	naive := func(q workqueue.TypedRateLimitingInterface[string], item string, err error) {
		if err != nil {
			q.AddRateLimited(item)
		}
		q.Forget(item)
	}
	right := func(q workqueue.TypedRateLimitingInterface[string], item string, err error) {
		if err != nil {
			q.AddRateLimited(item)
			return
		}
		q.Forget(item)
	}
	property := func(t *testing.T, after func(workqueue.TypedRateLimitingInterface[string], string, error)) error {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		var tries notes
		go func() {
			for item, shutdown := q.Get(); !shutdown; item, shutdown = q.Get() {
				tries.add("%s", item)
				after(q, item, errBroken)
				q.Done(item)
			}
		}()
		q.Add("web")
		apiservertest.Pass(time.Minute)
		q.ShutDown()
		if n := len(tries.all()); n > 20 {
			return fmt.Errorf("an item that always fails: want at most 20 tries in a minute, got %d", n)
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A worker takes an item from a queue, and one of its return paths does not call Done.
//
// Why: between Get and Done an item is in the processing set. If it is added meanwhile, it waits for Done, so that no
// two workers have the same item. Without Done it waits for ever, and so does ShutDownWithDrain.
//
// You see: a change that comes after the first was processed: want [web, web], got [web]
//
// Instead: defer Done in the line after Get.
func TestPitfall_NeverCallingDone(t *testing.T) {
	naive := func(q workqueue.TypedInterface[string], reconcile func(string) error) (more bool) {
		item, shutdown := q.Get()
		if shutdown {
			return false
		}
		if err := reconcile(item); err != nil {
			klog.ErrorS(err, "Cannot reconcile", "key", item)
			return true
		}
		q.Done(item)
		return true
	}
	right := func(q workqueue.TypedInterface[string], reconcile func(string) error) (more bool) {
		item, shutdown := q.Get()
		if shutdown {
			return false
		}
		defer q.Done(item)
		if err := reconcile(item); err != nil {
			klog.ErrorS(err, "Cannot reconcile", "key", item)
		}
		return true
	}
	property := func(t *testing.T, next func(workqueue.TypedInterface[string], func(string) error) bool) error {
		q := workqueue.NewTyped[string]()
		var seen notes
		go func() {
			for next(q, func(item string) error { seen.add("%s", item); return errBroken }) {
			}
		}()
		q.Add("web")
		apiservertest.Pass(time.Second)
		q.Add("web")
		apiservertest.Pass(time.Minute)
		q.ShutDown()
		return unlike("a change that comes after the first was processed", []string{"web", "web"}, seen.all())
	}
	contrast(t, property, naive, right)
}

// A worker checks Len before it calls Get, because it does not want to wait.
//
// Why: between the two calls another worker takes the item. Then Get waits, and the batch never ends.
//
// You see: one item and two workers: the second one still waits after a minute
//
// Instead: only Get can say whether there is an item. When nothing more will be added, call ShutDown. Get still hands
// out what is queued, and then reports the shutdown.
func TestPitfall_LenThenGet(t *testing.T) {
	naive := func(q workqueue.TypedInterface[string], process func(string)) {
		for q.Len() > 0 {
			item, _ := q.Get()
			process(item)
			q.Done(item)
		}
	}
	right := func(q workqueue.TypedInterface[string], process func(string)) {
		q.ShutDown()
		for {
			item, shutdown := q.Get()
			if shutdown {
				return
			}
			process(item)
			q.Done(item)
		}
	}
	property := func(t *testing.T, drain func(workqueue.TypedInterface[string], func(string))) error {
		q := rivalled{workqueue.NewTyped[string]()}
		q.Add("web")
		done := make(chan struct{})
		go func() { defer close(done); drain(q, func(string) {}) }()
		defer func() { q.ShutDown(); <-done }()
		select {
		case <-done:
			return nil
		case <-time.After(time.Minute):
			return errors.New("one item and two workers: the second one still waits after a minute")
		}
	}
	contrast(t, property, naive, right)
}

// rivalled is a queue with a second worker that is always a little faster.
type rivalled struct {
	workqueue.TypedInterface[string]
}

func (q rivalled) Get() (string, bool) {
	if q.Len() > 0 {
		item, _ := q.TypedInterface.Get()
		q.Done(item)
	}
	return q.TypedInterface.Get()
}

// A handler queues the object that it was given instead of its key.
//
// Why: the queue merges items that are equal, and two pointers to two versions of an object are not equal. So each
// version is reconciled, by several workers at once, and an old version may come last. A queue of struct values would
// merge them; a queue of pointers does not.
//
// You see: three versions of one object: want 1 item, got 3
//
// Instead: queue the key, and let the worker get the newest version from the lister.
func TestPitfall_QueueingObjects(t *testing.T) {
	naive := func(q workqueue.TypedInterface[any], obj *corev1.ConfigMap) {
		q.Add(obj)
	}
	right := func(q workqueue.TypedInterface[any], obj *corev1.ConfigMap) {
		q.Add(cache.MetaObjectToName(obj))
	}
	property := func(t *testing.T, enqueue func(workqueue.TypedInterface[any], *corev1.ConfigMap)) error {
		q := workqueue.NewTyped[any]()
		defer q.ShutDown()
		for _, version := range []string{"1", "2", "3"} {
			enqueue(q, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: version}})
		}
		if q.Len() != 1 {
			return fmt.Errorf("three versions of one object: want 1 item, got %d", q.Len())
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A channel with room for 1,000 keys is used as a work queue, and the worker puts back what fails.
//
// Why: a channel keeps each event, also of a key that waits already. When it is full, the handlers wait, and with them the
// informer. A worker that puts a key back waits as well, and nobody takes any more: a deadlock.
//
// You see: 2,000 events of 10 keys, each of which fails once: want 10 keys done, got 0
//
// Instead: use a work queue. It holds each key once, and Add never waits.
func TestPitfall_AChannelAsWorkQueue(t *testing.T) {
	naive := func(end <-chan struct{}) (add, done func(key string), get func() string) {
		keys := make(chan string, 1000)
		add = func(key string) {
			select {
			case keys <- key:
			case <-end:
			}
		}
		get = func() string {
			select {
			case key := <-keys:
				return key
			case <-end:
				return ""
			}
		}
		return add, func(string) {}, get
	}
	right := func(end <-chan struct{}) (add, done func(key string), get func() string) {
		queue := workqueue.NewTyped[string]()
		go func() { <-end; queue.ShutDown() }()
		return queue.Add, queue.Done, func() string { key, _ := queue.Get(); return key }
	}
	property := func(_ *testing.T, newQueue func(<-chan struct{}) (func(string), func(string), func() string)) error {
		end := make(chan struct{})
		add, done, get := newQueue(end)
		var succeeded notes
		var both sync.WaitGroup
		both.Go(func() { // a handler
			for n := range 2000 {
				add(fmt.Sprint("web-", n%10))
			}
		})
		both.Go(func() { // the worker
			tried := map[string]bool{}
			for key := get(); key != ""; key = get() {
				<-time.After(time.Millisecond) // the work
				if tried[key] {
					succeeded.add("%s", key)
				} else {
					add(key)
				}
				tried[key] = true
				done(key)
			}
		})
		apiservertest.Pass(time.Minute)
		defer both.Wait()
		defer close(end)
		if n := len(slices.Compact(slices.Sorted(slices.Values(succeeded.all())))); n != 10 {
			return fmt.Errorf("2,000 events of 10 keys, each of which fails once: want 10 keys done, got %d", n)
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// Workers count what they have done in one variable, without a lock.
//
// Why: success++ reads, adds and writes. Between the read and the write another worker may read the same number, and one
// of the two is lost. The race detector reports it, but only in a run in which it happens.
//
// You see: 10 workers that succeed 10 times each: want 100, got fewer
//
// Instead: count under a lock, or with atomic.Int64's Add.
func TestPitfall_CountingWithoutALock(t *testing.T) {
	naive := func(success *register) {
		n := success.read() // success++ in its three parts
		n++
		success.write(n)
	}
	var mu sync.Mutex
	right := func(success *register) {
		mu.Lock()
		defer mu.Unlock()
		n := success.read()
		n++
		success.write(n)
	}
	property := func(_ *testing.T, count func(*register)) error {
		success := &register{}
		var workers sync.WaitGroup
		for range 10 {
			workers.Go(func() {
				for range 10 {
					count(success)
				}
			})
		}
		workers.Wait()
		if success.value.Load() < 100 {
			return errors.New("10 workers that succeed 10 times each: want 100, got fewer")
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// register is a variable that is read and written by itself. A read takes a while, so that other workers come in between.
type register struct{ value atomic.Int64 }

func (r *register) read() int64 {
	defer func() {
		for range 1000 {
			runtime.Gosched()
		}
	}()
	return r.value.Load()
}

func (r *register) write(n int64) { r.value.Store(n) }
