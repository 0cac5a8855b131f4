package pitfalls

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/apiserver/apiservertest"
)

// A factory is started before it is asked for its informers.
//
// Why: Start runs the informers that were asked for so far. An informer that is asked for later exists but does not
// run, so its lister stays empty. The factory's WaitForCacheSync waits only for informers that run, so it returns at
// once.
//
// You see: the lister of a cluster with one ConfigMap has 0
//
// Instead: ask for every informer (by Informer or by Lister), then call Start, then wait. Start may be called again for
// informers that were added later.
func TestPitfall_StartingTheFactoryFirst(t *testing.T) {
	naive := func(ctx context.Context, factory informers.SharedInformerFactory) corelisters.ConfigMapLister {
		factory.StartWithContext(ctx)
		factory.WaitForCacheSyncWithContext(ctx)
		return factory.Core().V1().ConfigMaps().Lister()
	}
	right := func(ctx context.Context, factory informers.SharedInformerFactory) corelisters.ConfigMapLister {
		lister := factory.Core().V1().ConfigMaps().Lister()
		factory.StartWithContext(ctx)
		factory.WaitForCacheSyncWithContext(ctx)
		return lister
	}
	property := func(t *testing.T, begin func(context.Context, informers.SharedInformerFactory) corelisters.ConfigMapLister) error {
		c := startCluster(t)
		c.Put("web", "1")
		factory := informers.NewSharedInformerFactory(c.Client, 0)
		ctx, cancel := context.WithCancel(context.Background())
		defer factory.Shutdown()
		defer cancel()
		lister := begin(ctx, factory)
		apiservertest.Pass(time.Minute)
		all, err := lister.ConfigMaps("default").List(everything)
		require.NoError(t, err)
		if len(all) != 1 {
			return fmt.Errorf("the lister of a cluster with one ConfigMap has %d", len(all))
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A program keeps data of its own in a handler, and waits for the informer's HasSynced.
//
// Why: the informer is synced when its store is filled. Goroutines of their own call the handlers, later. So the data
// that a handler keeps (an index, a count, a set of names) is still empty.
//
// You see: 3 objects in the cluster, 0 in what the handler keeps
//
// Instead: wait for HasSynced of the registration that AddEventHandler returns. It is true when the handler has got the
// whole first list.
func TestPitfall_WaitingForTheInformerInsteadOfTheHandler(t *testing.T) {
	naive := func(ctx context.Context, informer cache.SharedIndexInformer, _ cache.ResourceEventHandlerRegistration) bool {
		return cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	}
	right := func(ctx context.Context, _ cache.SharedIndexInformer, handler cache.ResourceEventHandlerRegistration) bool {
		return cache.WaitForCacheSync(ctx.Done(), handler.HasSynced)
	}
	property := func(t *testing.T, wait func(context.Context, cache.SharedIndexInformer, cache.ResourceEventHandlerRegistration) bool) error {
		c := startCluster(t)
		for _, name := range []string{"a", "b", "c"} {
			c.Put(name, "1")
		}
		informer := c.informer(0)
		var kept notes
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			<-time.After(time.Second) // the handler looks something up, for example
			kept.add("%v", obj)
		}})
		require.NoError(t, err)
		start(t, informer.RunWithContext)
		require.True(t, wait(t.Context(), informer, registration))
		if n := len(kept.all()); n != 3 {
			return fmt.Errorf("3 objects in the cluster, %d in what the handler keeps", n)
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A worker starts before the cache is filled, or after a wait whose result was not checked.
//
// Why: an empty cache has no owners. A reconciler that deletes objects without an owner then deletes all of them.
// WaitForCacheSync returns false when it was interrupted before the caches were filled.
//
// You see: the server was down for a while, and 1 object whose owner exists was cleaned up
//
// Instead: do nothing if the wait returns false.
func TestPitfall_WorkingBeforeTheSync(t *testing.T) {
	naive := func(ctx context.Context, informer cache.SharedIndexInformer, work func()) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
		work()
	}
	right := func(ctx context.Context, informer cache.SharedIndexInformer, work func()) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return
		}
		work()
	}
	property := func(t *testing.T, begin func(context.Context, cache.SharedIndexInformer, func())) error {
		c := startCluster(t)
		c.Put("owner", "1")
		c.Faults().FailNext(-1, unavailable("list"))
		c.Faults().FailNext(-1, unavailable("watch"))
		informer := c.informer(0)
		start(t, informer.RunWithContext)
		cleanedUp := 0
		begin(t.Context(), informer, func() {
			if _, exists, _ := informer.GetStore().GetByKey("default/owner"); !exists {
				cleanedUp++
			}
		})
		if cleanedUp > 0 {
			return errors.New("the server was down for a while, and 1 object whose owner exists was cleaned up")
		}
		return nil
	}
	contrast(t, property, naive, right)
}
