package cache

import (
	"context"
	"slices"
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
// beginning and each end are logged to the logger in ctx, as entries of the caller.
func WaitFor(ctx context.Context, what string, checkers ...DoneChecker) bool {
	logger := klog.Logger{} // drops everything
	if what != "" {
		helper, atCaller := klog.FromContext(ctx).WithCallStackHelper()
		helper()
		logger = atCaller
	}
	logger.Info("Waiting", "for", what)
	type result struct {
		DoneChecker
		done bool
	}
	// Each has a goroutine, so that the log has the time at which it was done. Entries of those would have no caller.
	// A name may be computed, by a function that is not for several goroutines.
	results := make(chan result)
	for _, checker := range checkers {
		go func() {
			select {
			case <-checker.Done():
			case <-ctx.Done():
			}
			results <- result{checker, IsDone(checker)} // done is done, whatever the context says
		}()
	}
	var missing []string
	for range checkers {
		switch r := <-results; {
		case !r.done:
			missing = append(missing, r.Name())
		case what != "":
			logger.Info("Done waiting", "for", what, "instance", r.Name())
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
