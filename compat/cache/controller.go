package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/features"
	"k8s.io/klog/v2"
)

// New returns a controller that fills c's Queue, of any implementation, from c's ListerWatcher, and processes what it
// pops. Config is copied. With a ProcessBatch, a QueueWithBatch and the gate InOrderInformersBatchProcess it processes
// batches, else Process gets one item at a time. An error of either is dropped.
func New(c *Config) Controller { return &controller{config: *c} }

// controller runs a reflector and a loop that pops.
//
//	ListerWatcher ─▶ StoreReflector ─▶ Queue ─▶ Pop ─▶ Process
type controller struct {
	config    Config
	reflector atomic.Pointer[StoreReflector] // nil before it runs
}

// Run is RunWithContext with a channel instead of a context.
func (c *controller) Run(stopCh <-chan struct{}) { c.RunWithContext(wait.ContextForChannel(stopCh)) }

// RunWithContext lists, watches and processes until ctx ends, and then closes the queue. It returns when its goroutines
// have ended.
func (c *controller) RunWithContext(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx)
	r := c.newReflector(ctx)
	c.reflector.Store(r)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // a panic of Process ends the others, too, but does not wait for them: it must end the program
	var wg sync.WaitGroup
	wg.Go(func() {
		<-ctx.Done()
		c.config.Queue.Close() // releases Pop
	})
	wg.Go(func() { r.RunWithContext(ctx) })
	// If Process panics and panics do not end the process, the loop starts again after a second.
	wait.UntilWithContext(ctx, c.process, time.Second)
	wg.Wait()
}

func (c *controller) newReflector(ctx context.Context) *StoreReflector {
	logger := klog.FromContext(ctx)
	r := NewReflectorWithOptions(c.config.ListerWatcher, c.config.ObjectType, c.config.Queue, ReflectorOptions{
		Logger:          &logger,
		ResyncPeriod:    c.config.FullResyncPeriod,
		MinWatchTimeout: c.config.MinWatchTimeout,
		TypeDescription: c.config.ObjectDescription,
	})
	r.ShouldResync = c.config.ShouldResync
	r.WatchListPageSize = c.config.WatchListPageSize
	r.errors.handler = c.config.WatchErrorHandlerWithContext
	if handler := c.config.WatchErrorHandler; handler != nil {
		r.errors.handler = func(_ context.Context, r *Reflector, err error) { handler(r, err) }
	}
	return r
}

func (c *controller) process(ctx context.Context) {
	one := PopProcessFunc(c.config.Process)
	batches, ok := c.config.Queue.(QueueWithBatch)
	ok = ok && c.config.ProcessBatch != nil && features.FeatureGates().Enabled(features.InOrderInformersBatchProcess)
	for ctx.Err() == nil {
		var err error
		if ok {
			err = batches.PopBatch(c.config.ProcessBatch, one)
		} else {
			_, err = c.config.Queue.Pop(one)
		}
		if errors.Is(err, ErrFIFOClosed) {
			return
		}
	}
}

// HasSynced is that of the queue.
func (c *controller) HasSynced() bool { return c.config.Queue.HasSynced() }

// HasSyncedChecker is the queue's.
func (c *controller) HasSyncedChecker() DoneChecker { return c.config.Queue.HasSyncedChecker() }

// LastSyncResourceVersion returns the resourceVersion that the queue has reached; "" before the first list.
func (c *controller) LastSyncResourceVersion() string {
	if r := c.reflector.Load(); r != nil {
		return r.LastSyncResourceVersion()
	}
	return ""
}
