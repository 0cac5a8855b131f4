package userasks

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// A handler asserts the type of its informer. It works for months, until an object is deleted while the informer has no
// watch. Then a list finds the object gone.
func TestAHandlerCannotCrashOnATombstone(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c, crashed := startCluster(t), crashes(t)
		c.Put("seen", "1")
		c.Put("missed", "1")
		informer, told := c.clientGoInformer(nil), notes{}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
			told.add("deleted %s", obj.(*corev1.ConfigMap).Name)
		}})
		require.NoError(t, err)
		start(t, informer.RunWithContext)
		require.True(t, cache.WaitFor(t.Context(), "", informer.HasSyncedChecker()))

		c.Delete("seen")
		require.Equal(t, []string{"deleted seen"}, told.read())
		require.Empty(t, crashed())
		c.Miss(func() { c.Delete("missed") })
		// The process would end here, but this script lets it live (utilruntime.ReallyCrash).
		require.Empty(t, told.read())
		require.Contains(t, crashed()[0], "interface {} is cache.DeletedFinalStateUnknown, not *v1.ConfigMap")

		// Since v0.37 there is a typed handler, which is opt-in. Its OptionalObj may be nil.
		_, err = cache.NewTypedSharedIndexInformer[*corev1.ConfigMap](informer).AddTypedEventHandler(
			cache.TypedResourceEventHandlerFuncs[*corev1.ConfigMap]{DeleteFunc: func(obj cache.DeletedObject[*corev1.ConfigMap]) {
				told.add("deleted %s", obj.GetKey())
			}})
		require.NoError(t, err)
		c.Put("missed", "2")
		c.Miss(func() { c.Delete("missed") })
		require.Equal(t, []string{"deleted default/missed"}, told.read())
	})
	glasswatch(t, func(t *testing.T) {
		c, crashed := startCluster(t), crashes(t)
		c.Put("seen", "1")
		c.Put("missed", "1")
		informer, told := c.informer(options{}), notes{}
		_, err := informer.AddHandler(handler{DeleteFunc: func(d deletion) {
			// No assertion is needed: Obj has its type, and the tombstone is a field.
			told.add("deleted %s %s, final state unknown: %v", d.Key.Name, d.Obj.Data["v"], d.FinalStateUnknown)
		}}, handlerOptions{})
		require.NoError(t, err)
		startInformer(t, informer)
		require.NoError(t, informer.WaitForSync(t.Context()))

		c.Delete("seen")
		require.Equal(t, []string{"deleted seen 1, final state unknown: false"}, told.read())
		c.Miss(func() { c.Delete("missed") })
		require.Equal(t, []string{"deleted missed 1, final state unknown: true"}, told.read())
		require.Empty(t, crashed())
	})
}
