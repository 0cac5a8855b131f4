package cache

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// addingAndRemoving are handlers that come and go at unusual moments.
var addingAndRemoving = stories{
	"added by a handler": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		c.server.Put("b")
		informer := c.shared(c.server, &corev1.ConfigMap{}, plain())
		var outer diary
		_, err := informer.AddEventHandler(ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			outer.OnAdd(obj, false)
			if brief(obj) == "a@1" {
				_, err := informer.AddEventHandler(&c.events)
				outer.write("%v", err)
			}
		}})
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		c.server.Put("c")
		synctest.Wait()
		c.write("%v", len(outer.copied()))
	},
	"removed by itself": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		informer := c.shared(c.server, &corev1.ConfigMap{}, plain())
		var handle ResourceEventHandlerRegistration
		handle, err := informer.AddEventHandler(ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			c.write("%s, removed %v", brief(obj), informer.RemoveEventHandler(handle))
			c.write("removed again %v", informer.RemoveEventHandler(handle))
		}})
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		c.server.Put("b")
		synctest.Wait()
		c.write("%v", informer.HasSynced())
	},
	"removed before the start": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		informer := c.shared(c.server, &corev1.ConfigMap{}, plain())
		handle, err := informer.AddEventHandler(&c.events)
		require.NoError(t, err)
		c.write("%v", handle.HasSynced())
		c.write("%v", informer.RemoveEventHandler(handle))
		c.write("%v", handle.HasSynced())
		defer running(informer.RunWithContext)()
		c.write("%v %v", handle.HasSynced(), informer.RemoveEventHandler(handle))
	},
	"removed after the stop": func(t *testing.T, c *transcript) {
		informer := c.shared(c.server, &corev1.ConfigMap{}, plain())
		handle, err := informer.AddEventHandler(&c.events)
		require.NoError(t, err)
		running(informer.RunWithContext)()
		c.write("%v %v", informer.RemoveEventHandler(handle), handle.HasSynced())
		c.write("%v", c.shutDown(informer, handle))
	},
	"removed with a backlog": func(t *testing.T, c *transcript) {
		for i := range 6 {
			c.server.Put(fmt.Sprint(i))
		}
		informer, goOn, calls := c.shared(c.server, &corev1.ConfigMap{}, plain()), make(chan struct{}), 0
		handle, err := informer.AddEventHandler(ResourceEventHandlerFuncs{AddFunc: func(any) { calls++; <-goOn }})
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		c.write("%v", informer.RemoveEventHandler(handle))
		close(goOn)
		synctest.Wait()
		c.write("%d calls, synced %v", calls, handle.HasSynced())
	},
	"another informer's": func(t *testing.T, c *transcript) {
		mine, other := c.informer(t, c.server), c.shared(c.server, &corev1.ConfigMap{}, plain())
		handle, err := other.AddEventHandler(&c.events)
		require.NoError(t, err)
		c.write("%v, nil is an error: %v", mine.RemoveEventHandler(handle), mine.RemoveEventHandler(nil) != nil)
		defer running(mine.RunWithContext)()
		defer running(other.RunWithContext)()
		c.write("%v", mine.RemoveEventHandler(handle))
		c.server.Put("a")
		synctest.Wait()
	},
	"added twice": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		informer := c.shared(c.server, &corev1.ConfigMap{}, plain())
		first, err := informer.AddEventHandler(&c.events)
		require.NoError(t, err)
		_, err = informer.AddEventHandler(&c.events)
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		c.write("%v", informer.RemoveEventHandler(first))
		c.server.Put("a")
		synctest.Wait()
	},
	"shut down before the start": func(t *testing.T, c *transcript) {
		informer := c.shared(c.server, &corev1.ConfigMap{}, plain())
		handle, err := informer.AddEventHandler(&c.events)
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { done <- c.shutDown(informer, handle) }()
		synctest.Wait()
		c.write("%d", len(done))
		stop := running(informer.RunWithContext)
		handle, err = informer.AddEventHandler(&c.events)
		require.NoError(t, err)
		c.write("%v %v", c.shutDown(informer, handle), c.shutDown(informer, handle))
		stop()
	},
	"late": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		c.server.Put("b")
		informer := c.informer(t, c.server)
		defer running(informer.RunWithContext)()
		goOn := make(chan struct{})
		handle, err := informer.AddEventHandler(ResourceEventHandlerDetailedFuncs{
			AddFunc: func(_ any, initial bool) { c.write("%v", initial); <-goOn },
		})
		require.NoError(t, err)
		synctest.Wait()
		c.write("%v", handle.HasSynced())
		close(goOn)
		synctest.Wait()
		c.write("%v", handle.HasSynced())
	},
	"without functions": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		informer := c.shared(c.server, &corev1.ConfigMap{}, plain())
		for _, handler := range []ResourceEventHandler{
			ResourceEventHandlerFuncs{}, ResourceEventHandlerDetailedFuncs{}, FilteringResourceEventHandler{
				FilterFunc: func(obj any) bool { c.write("filter %s", brief(obj)); return true }, Handler: &c.events,
			},
		} {
			_, err := informer.AddEventHandler(handler)
			require.NoError(t, err)
		}
		defer running(informer.RunWithContext)()
		c.server.Put("a")
		synctest.Wait()
		c.server.Delete("a")
		synctest.Wait()
	},
}

func TestOrder_HandlersComeAndGoAsInClientGo(t *testing.T) { addingAndRemoving.compare(t) }

func TestOrder_ResyncPeriodsAreThoseOfClientGo(t *testing.T) {
	stories{"periods": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		options := SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second, Indexers: Indexers{}}
		informer := c.shared(c.server, &corev1.ConfigMap{}, options)
		began := time.Now()
		add := func(name string, period time.Duration) (tell func()) {
			var told diary
			_, err := informer.AddEventHandlerWithResyncPeriod(ResourceEventHandlerFuncs{
				UpdateFunc: func(_, _ any) { told.write("%v", time.Since(began)) },
			}, period)
			require.NoError(t, err)
			return func() { c.write("%s: %v", name, told.copied()) }
		}
		tell := []func(){
			add("less than a second", time.Millisecond), add("seven", 7*time.Second), add("none", 0),
		}
		defer running(informer.RunWithContext)()
		pass(2500 * time.Millisecond)
		tell = append(tell, add("late and short", 300*time.Millisecond), add("late", 10*time.Second))
		pass(13 * time.Second)
		for _, handler := range tell {
			handler()
		}
	}}.compare(t)
}

// client-go has no resyncs then, whatever the handlers ask for.
func TestOrder_AnInformerWithoutAPeriodHasNoResyncs(t *testing.T) {
	stories{"periods": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		informer := c.informer(t, c.server)
		_, err := informer.AddEventHandlerWithResyncPeriod(&c.events, time.Second)
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		_, err = informer.AddEventHandlerWithResyncPeriod(&c.events, time.Second)
		require.NoError(t, err)
		pass(3 * time.Second)
		c.write("three seconds have passed")
	}}.compare(t)
}

// client-go takes a negative period for the shortest one of all handlers.
func TestOrder_ANegativeResyncPeriodMeansNone(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		options := SharedIndexInformerOptions{ResyncPeriod: time.Minute, Indexers: Indexers{}}
		informer, resynced := m.shared(s, &corev1.ConfigMap{}, options), 0
		_, err := informer.AddEventHandlerWithResyncPeriod(ResourceEventHandlerFuncs{}, time.Second)
		require.NoError(t, err)
		count := ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { resynced++ }}
		_, err = informer.AddEventHandlerWithResyncPeriod(count, -time.Minute)
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		pass(2*time.Minute + time.Second/2)
		require.Equal(t, map[string]int{theirMachinery.name: 120, ourMachinery.name: 0}[m.name], resynced)
	})
}

// client-go takes it, and panics at the first event.
func TestOrder_ANilHandlerIsRefused(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		handle, err := m.shared(s, &corev1.ConfigMap{}, plain()).AddEventHandler(nil)
		if m.name == theirMachinery.name {
			require.NoError(t, err)
			require.NotNil(t, handle)
			return
		}
		require.Error(t, err)
		require.Nil(t, handle)
	})
}
