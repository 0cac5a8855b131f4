package userasks

import (
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"glasswatch/sharedinformer"
)

// A handler hangs in its first call, perhaps for minutes. Meanwhile one object, a lease or a status, changes all the time.
func TestTheBacklogOfASlowHandlerCanBeBounded(t *testing.T) {
	const changes = 200
	change := func(c *cluster) {
		synctest.Wait() // the handlers hang
		for i := range changes {
			c.Put("busy", strconv.Itoa(i+1))
		}
		synctest.Wait()
	}
	clientGo(t, func(t *testing.T) {
		c, gate := startCluster(t), newGate(t)
		c.Put("busy", "0")
		informer, calls := c.clientGoInformer(nil), 0
		call := func() { gate.Pass(); calls++ }
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { call() }, UpdateFunc: func(any, any) { call() }})
		require.NoError(t, err)
		start(t, informer.RunWithContext)
		change(c)
		gate.Open()
		synctest.Wait()
		// All these calls waited in memory: one version for each change, without a bound.
		require.Equal(t, 1+changes, calls)
	})
	glasswatch(t, func(t *testing.T) {
		c, gate := startCluster(t), newGate(t)
		c.Put("busy", "0")
		informer := c.informer(options{})
		add := func(opts handlerOptions) (*sharedinformer.Registration, *notes) {
			told := &notes{}
			r, err := informer.AddHandler(handler{
				AddFunc:    func(obj *corev1.ConfigMap, _ bool) { gate.Pass(); told.add("add %s", obj.Data["v"]) },
				UpdateFunc: func(old, obj *corev1.ConfigMap) { told.add("update %s to %s", old.Data["v"], obj.Data["v"]) },
			}, opts)
			require.NoError(t, err)
			return r, told
		}
		// It needs only the present state: the backlog has one change for the object.
		folding, toldFolded := add(handlerOptions{Fold: true})
		// It needs each change, but with bounded memory: when the backlog exceeds the bound, the handler is removed,
		// and its registration has the reason.
		limited, toldLimited := add(handlerOptions{MaxBacklog: 50})
		// It counts, and has nothing to fear.
		counting, toldAll := add(handlerOptions{})
		startInformer(t, informer)
		change(c)

		require.Equal(t, 2, folding.Stats().Depth, "the call it is in, and one change")
		require.ErrorIs(t, limited.Err(), sharedinformer.ErrBacklog)
		require.Equal(t, 1+changes, counting.Stats().Depth)
		gate.Open()
		require.Equal(t, []string{"add 0", "update 0 to 200"}, toldFolded.read())
		require.Equal(t, []string{"add 0"}, toldLimited.read())
		<-limited.Done()
		require.Len(t, toldAll.read(), 1+changes)
	})
}
