// Package story runs the whole stack, HTTP and API server included, in virtual time.
package story

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

func TestStory_ListWatchBreakRelistResyncShutdown(t *testing.T) {
	for _, queue := range []sharedinformer.QueueKind{sharedinformer.InOrder, sharedinformer.PerKey} {
		t.Run(fmt.Sprint("per-key=", queue == sharedinformer.PerKey), func(t *testing.T) {
			began := time.Now()
			synctest.Test(t, func(t *testing.T) { tellStory(t, queue) })
			require.Less(t, time.Since(began), time.Minute, "five hours of virtual time take no real time")
		})
	}
}

func tellStory(t *testing.T, queue sharedinformer.QueueKind) {
	serverCtx, stopServer := context.WithCancel(context.Background())
	c := startCluster(t, serverCtx)
	// Cleanups run last in, first out: the server is stopped first, and then the test waits for it.
	t.Cleanup(stopServer)
	c.Create("a", "1")
	c.Create("b", "1")

	informer := sharedinformer.New(c.lw, sharedinformer.Options[*corev1.ConfigMap]{ResyncPeriod: time.Hour, Queue: queue})
	d := &diary{t: t}
	_, err := informer.AddHandler(d, sharedinformer.HandlerOptions{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- informer.Run(ctx) }()

	// List.
	require.NoError(t, informer.WaitForSync(ctx))
	d.Expect("add a=1 initial=true", "add b=1 initial=true")

	// Watch.
	c.Update("a", "2")
	d.Expect("update a=1→2")
	c.Create("c", "1")
	c.Delete("c")
	d.Expect("add c=1 initial=false", "delete c=1 unknown=false")

	// Break: the deletion of b is missed, and the history that holds it is gone.
	c.LoseTheNetwork()
	pass(10 * time.Second)
	c.Delete("b")
	c.Create("d", "1")
	c.Update("a", "3")
	c.Compact()
	d.Expect()
	require.Error(t, informer.LastError())
	c.NetworkIsBack()

	// Relist: a missing object becomes a tombstone, with its last known state.
	pass(time.Minute)
	require.NoError(t, informer.LastError())
	d.Expect("update a=2→3", "add d=1 initial=false", "delete b=1 unknown=true")
	_, found := informer.Store().GetByKey(listwatch.Key{Namespace: "default", Name: "b"})
	require.False(t, found)

	// Hours go by. Watches end and are taken up again where they were; each hour is a resync.
	pass(5 * time.Hour)
	hourly := []string{"update a=3→3", "update d=1→1"}
	var resyncs []string
	for range 5 {
		resyncs = append(resyncs, hourly...)
	}
	d.Expect(resyncs...)
	c.Update("a", "4")
	d.Expect("update a=3→4")

	// A late handler gets the store as adds.
	late := &diary{t: t}
	_, err = informer.AddHandler(late, sharedinformer.HandlerOptions{ResyncPeriod: sharedinformer.NoResync})
	require.NoError(t, err)
	late.Expect("add a=4 initial=true", "add d=1 initial=true")

	// Shutdown.
	stop()
	require.NoError(t, <-done)
	d.Expect()
}
