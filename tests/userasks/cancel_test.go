package userasks

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/apiserver/apiservertest"
)

// The API server is overloaded and answers 429 to the streaming list, for minutes. Then the program must stop.
func TestCancellationEndsTheWaitForAnOverloadedServer(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c := startCluster(t)
		c.FailReads(-1, 429, "watch")
		informer := c.clientGoInformer(nil)
		stop := start(t, informer.RunWithContext)
		apiservertest.Pass(10 * time.Minute)
		// The wait between two streaming lists (0.8 s at first, up to a minute later) ignores the context. It may have begun
		// 0.1 s before the stop.
		require.GreaterOrEqual(t, stopOnceItWaits(c, stop), 700*time.Millisecond)
	})
	glasswatch(t, func(t *testing.T) {
		c := startCluster(t)
		c.FailReads(-1, 429, "watch")
		stop := startInformer(t, c.informer(options{}))
		apiservertest.Pass(10 * time.Minute)
		require.Zero(t, stopOnceItWaits(c, stop))
	})
}

// stopOnceItWaits stops an informer at most 0.1 s after it has been refused, so that its wait has just begun.
func stopOnceItWaits(c *cluster, stop func() time.Duration) time.Duration {
	for c.Asked(); len(c.Asked()) == 0; {
		apiservertest.Pass(100 * time.Millisecond)
	}
	return stop()
}

// A handler has panicked, in a program that survives panics (utilruntime.ReallyCrash = false). The informer waits a
// second before the next call. In this second the program must stop.
func TestCancellationEndsThePauseAfterAPanic(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c, crashed, told := startCluster(t), crashes(t), notes{}
		informer := c.clientGoInformer(nil)
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			told.add("add %s", obj.(*corev1.ConfigMap).Name)
			panic("handler")
		}})
		require.NoError(t, err)
		stop := start(t, informer.RunWithContext)
		synctest.Wait()
		c.Put("a", "1")
		c.Put("b", "1")
		require.Equal(t, []string{"add a"}, told.read())
		require.Equal(t, []string{"handler"}, crashed())
		// It sleeps for the whole second, and then calls the handler again, a second after the stop.
		require.Equal(t, time.Second, stop())
		require.Equal(t, []string{"add b"}, told.read())
	})
	glasswatch(t, func(t *testing.T) {
		c, crashed, told := startCluster(t), crashes(t), notes{}
		informer := c.informer(options{})
		_, err := informer.AddHandler(handler{AddFunc: func(obj *corev1.ConfigMap, _ bool) {
			told.add("add %s", obj.Name)
			panic("handler")
		}}, handlerOptions{})
		require.NoError(t, err)
		stop := startInformer(t, informer)
		synctest.Wait()
		c.Put("a", "1")
		c.Put("b", "1")
		require.Equal(t, []string{"add a"}, told.read())
		require.Equal(t, []string{"handler"}, crashed())
		require.Zero(t, stop())
		require.Empty(t, told.read())
	})
}
