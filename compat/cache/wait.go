package cache

import (
	"context"
	"slices"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// syncPollPeriod is the time between two calls of a function that must be polled.
const syncPollPeriod = 100 * time.Millisecond

// WaitForCacheSync blocks until all of cacheSyncs return true at once, and returns true then, or false once stopCh is
// closed. It calls them ten times a second; WaitFor needs no polling.
func WaitForCacheSync(stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	notYet := func(synced InformerSynced) bool { return !synced() }
	if !slices.ContainsFunc(cacheSyncs, notYet) {
		return true
	}
	tick := time.NewTicker(syncPollPeriod)
	defer tick.Stop()
	for {
		select {
		case <-stopCh:
			return false
		case <-tick.C:
			if !slices.ContainsFunc(cacheSyncs, notYet) {
				return true
			}
		}
	}
}

// WaitForNamedCacheSync is WaitForCacheSync that logs what controllerName is waiting for.
func WaitForNamedCacheSync(controllerName string, stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	ctx := klog.NewContext(context.Background(), klog.Background().WithValues("controller", controllerName))
	return waitAndTell(ctx, stopCh, cacheSyncs)
}

// WaitForNamedCacheSyncWithContext is WaitForCacheSync that logs to the logger in ctx. The logger's name or values
// should name the waiting program.
func WaitForNamedCacheSyncWithContext(ctx context.Context, cacheSyncs ...InformerSynced) bool {
	return waitAndTell(ctx, ctx.Done(), cacheSyncs)
}

func waitAndTell(ctx context.Context, stopCh <-chan struct{}, cacheSyncs []InformerSynced) bool {
	logger := klog.FromContext(ctx)
	logger.Info("Waiting for caches to sync")
	if !WaitForCacheSync(stopCh, cacheSyncs...) {
		utilruntime.HandleErrorWithContext(ctx, nil, "Unable to sync caches")
		return false
	}
	logger.Info("Caches are synced")
	return true
}

// WaitFor blocks until all checkers are done or ctx ends, and returns whether all are done. If what is not empty, the
// beginning and each end are logged to the logger in ctx.
func WaitFor(ctx context.Context, what string, checkers ...DoneChecker) bool {
	logger := klog.FromContext(ctx)
	if what == "" {
		logger = klog.Logger{} // drops everything
	}
	logger.Info("Waiting", "for", what)
	// Each has a goroutine, so that the log has the time at which it was done.
	done := make(chan int)
	quit := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(quit)
	for i, checker := range checkers {
		wg.Go(func() {
			select {
			case <-checker.Done():
				select {
				case done <- i:
				case <-quit:
				}
			case <-quit:
			}
		})
	}
	for range checkers {
		select {
		case i := <-done:
			logger.Info("Done waiting", "for", what, "instance", checkers[i].Name())
		case <-ctx.Done():
			return reportMissing(ctx, logger, what, checkers)
		}
	}
	return true
}

// reportMissing returns whether all checkers are done, and logs those that are not.
func reportMissing(ctx context.Context, logger klog.Logger, what string, checkers []DoneChecker) bool {
	var missing []string
	for _, checker := range checkers {
		if !IsDone(checker) {
			missing = append(missing, checker.Name())
		}
	}
	if len(missing) == 0 {
		return true
	}
	slices.Sort(missing)
	logger.Info("Timed out waiting", "for", what, "cause", context.Cause(ctx), "instances", missing)
	return false
}

// IsDone reports whether checker is done, without blocking.
func IsDone(checker DoneChecker) bool {
	select {
	case <-checker.Done():
		return true
	default:
		return false
	}
}

// namedChannel is a DoneChecker made of a channel.
type namedChannel struct {
	name func() string
	done <-chan struct{}
}

func (c namedChannel) Name() string          { return c.name() }
func (c namedChannel) Done() <-chan struct{} { return c.done }
