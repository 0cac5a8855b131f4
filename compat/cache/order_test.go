package cache

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// byConstant files everything under one value.
func byConstant(any) ([]string, error) { return []string{"v"}, nil }

// startingAndStopping are informers whose methods are called in an unusual order.
var startingAndStopping = stories{
	"run twice": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		informer := c.informer(t, c.server)
		defer running(informer.RunWithContext)()
		began := time.Now()
		informer.RunWithContext(t.Context())
		c.write("the second run took %v", time.Since(began))
		c.state(informer)
	},
	"run after stop": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		informer := c.informer(t, c.server)
		running(informer.RunWithContext)()
		c.state(informer)
		informer.RunWithContext(t.Context())
		_, err := informer.AddEventHandler(&c.events)
		c.write("another handler: %v", err != nil)
		c.write("another index: %v", informer.AddIndexers(Indexers{"late": byConstant}))
		c.state(informer)
	},
	"run with an ended context": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		informer := c.informer(t, c.server)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		informer.RunWithContext(ctx)
		// Not the version: client-go's lists or does not, as chance has it.
		c.write("synced %v, stopped %v", informer.HasSynced(), informer.IsStopped())
		_, err := informer.AddEventHandler(&c.events)
		c.write("another handler: %v", err != nil)
	},
	"asked before it runs": func(t *testing.T, c *transcript) {
		informer := c.informer(t, c.server)
		c.state(informer)
		controller := informer.GetController()
		controller.Run(nil)
		c.write("%v %q", controller.HasSynced(), controller.LastSyncResourceVersion())
		c.write("add: %v", informer.GetStore().Add(configMap("left over", "5")))
		c.server.Put("a")
		stop := running(informer.RunWithContext)
		c.state(informer)
		c.write("%v %q", controller.HasSynced(), controller.LastSyncResourceVersion())
		stop()
		c.state(informer)
	},
	"stopped in a handler": func(t *testing.T, c *transcript) {
		for i := range 6 {
			c.server.Put(fmt.Sprint(i))
		}
		informer := c.shared(c.server, &corev1.ConfigMap{}, plain())
		ctx, cancel := context.WithCancel(t.Context())
		_, err := informer.AddEventHandler(ResourceEventHandlerFuncs{AddFunc: func(any) {
			cancel()
			<-time.After(time.Hour)
		}})
		require.NoError(t, err)
		began := time.Now()
		informer.RunWithContext(ctx)
		c.write("%v", time.Since(began).Round(time.Hour) > 0)
		c.write("%v", informer.IsStopped())
	},
	"stopped while a request must wait": func(t *testing.T, c *transcript) {
		c.server.failLists = []error{context.DeadlineExceeded}
		informer := c.informer(t, c.server)
		stop := running(informer.RunWithContext)
		pass(100 * time.Millisecond)
		began := time.Now()
		stop()
		c.write("%v", time.Since(began))
		c.state(informer)
	},
	"one ListWatch for two": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		first, second := c.informer(t, c.server), c.shared(c.server, &corev1.ConfigMap{}, plain())
		defer running(first.RunWithContext)()
		stop := running(second.RunWithContext)
		c.server.Put("b")
		synctest.Wait()
		stop()
		c.server.Put("c")
		synctest.Wait()
		c.state(first)
		c.state(second)
	},
	"set once it runs": func(t *testing.T, c *transcript) {
		informer := c.informer(t, c.server)
		c.write("%v %v", informer.SetTransform(nil), informer.SetWatchErrorHandlerWithContext(nil))
		c.server.failLists = []error{context.DeadlineExceeded}
		defer running(informer.RunWithContext)()
		pass(time.Minute)
		c.write("%v %v", informer.SetTransform(nil), informer.SetWatchErrorHandler(nil))
		c.state(informer)
	},
	"indices": func(t *testing.T, c *transcript) {
		informer := c.informer(t, c.server)
		c.write("%v", informer.AddIndexers(Indexers{"a": byConstant, "b": byConstant}))
		c.write("%v", informer.AddIndexers(Indexers{"b": byConstant, "a": byConstant, "c": byConstant}))
		c.write("%v %v", informer.AddIndexers(nil), informer.AddIndexers(Indexers{}))
		stop := running(informer.RunWithContext)
		c.server.Put("x")
		synctest.Wait()
		c.write("%v", informer.AddIndexers(Indexers{"d": byConstant}))
		keys, err := informer.GetIndexer().IndexKeys("d", "v")
		c.write("%v %v", keys, err)
		stop()
		c.write("%v", informer.AddIndexers(Indexers{"e": byConstant}))
		for _, name := range []string{"a", "c", "unknown"} {
			objs, err := informer.GetIndexer().ByIndex(name, "v")
			c.write("%d %v, values %#v", len(objs), err, informer.GetIndexer().ListIndexFuncValues(name))
		}
	},
}

func TestOrder_InformersStartAndStopAsInClientGo(t *testing.T) { startingAndStopping.compare(t) }

// client-go's informer says it, too, though no interface has the method.
func TestOrder_WhetherAnInformerHasStartedCanBeAsked(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		asked, ok := informer.(interface{ HasStarted() bool })
		require.True(t, ok)
		require.False(t, asked.HasStarted())
		stop := running(informer.RunWithContext)
		require.True(t, asked.HasStarted())
		stop()
		require.True(t, asked.HasStarted())
	})
}
