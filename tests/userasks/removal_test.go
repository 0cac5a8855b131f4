package userasks

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// A component is switched off while its handler is in the first of three calls. Only the component knows whether it
// needs the other two. A component that counts needs them, and one that fills a cache does not.
func TestRemovingAHandlerDropsItsBacklogOrDrainsIt(t *testing.T) {
	fill := func(c *cluster) {
		c.Put("a", "1")
		c.Put("b", "1")
		c.Put("c", "1")
	}
	clientGo(t, func(t *testing.T) {
		c, told, gate := startCluster(t), notes{}, newGate(t)
		fill(c)
		informer := c.clientGoInformer(nil)
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { told.add("add"); gate.Pass() }})
		require.NoError(t, err)
		start(t, informer.RunWithContext)
		synctest.Wait()
		require.NoError(t, informer.RemoveEventHandler(registration))
		gate.Open()
		// A program can wait for the running call, but cannot get the other calls.
		require.NoError(t, cache.ShutDownEventHandler(informer, registration))
		require.Equal(t, []string{"add"}, told.read())
	})
	glasswatch(t, func(t *testing.T) {
		c, gate := startCluster(t), newGate(t)
		fill(c)
		informer := c.informer(options{})
		var drops, drains notes
		dropping, err := informer.AddHandler(gated(&drops, gate), handlerOptions{})
		require.NoError(t, err)
		draining, err := informer.AddHandler(gated(&drains, gate), handlerOptions{})
		require.NoError(t, err)
		startInformer(t, informer)
		synctest.Wait()
		require.NoError(t, informer.RemoveHandler(dropping))
		require.NoError(t, informer.DrainHandler(draining))
		c.Put("d", "1") // neither gets a change after its removal
		gate.Open()
		<-dropping.Done()
		<-draining.Done()
		require.Len(t, drops.read(), 1)
		require.Len(t, drains.read(), 3)
	})
}

// gated hangs in each add.
func gated(told *notes, gate *gate) handler {
	h := telling(told)
	add := h.AddFunc
	h.AddFunc = func(obj *corev1.ConfigMap, isInInitialList bool) { add(obj, isInInitialList); gate.Pass() }
	return h
}
