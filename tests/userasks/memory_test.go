package userasks

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"glasswatch/sharedinformer/transform"
)

// deployed are the objects of one application. They differ in their names; what tells who changed which field of them
// when, and how they were applied, is of no use to a controller.
func (c *cluster) deployed() {
	for n := range 20 {
		obj := configMap(fmt.Sprint("part-", n), "a text that is the same in all of them")
		obj.Labels = map[string]string{"app": "shop", "version": "v1.2.3"}
		obj.Annotations = map[string]string{"owner": "team-shop", "kubectl.kubernetes.io/last-applied-configuration": "{ … }"}
		c.PutObject(obj)
	}
}

// A cache holds every object as it came, and most of that is the same in all of them, or not needed.
func TestCachedObjectsCanBeMadeSmaller(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c := startCluster(t)
		c.deployed()
		informer := c.clientGoInformer(nil)
		start(t, informer.RunWithContext)
		require.True(t, cache.WaitFor(t.Context(), "", informer.HasSyncedChecker()))
		var objs []*corev1.ConfigMap
		for _, obj := range informer.GetStore().List() {
			objs = append(objs, obj.(*corev1.ConfigMap))
		}
		// SetTransform takes a function, and there is none to give it: each project writes its own. Only controller-runtime
		// has one, for managedFields. Nobody shares.
		for _, obj := range objs {
			require.NotEmpty(t, obj.ManagedFields)
			require.Len(t, obj.Annotations, 2)
		}
		require.False(t, isSameString(objs[0].Data["v"], objs[1].Data["v"]))
	})
	glasswatch(t, func(t *testing.T) {
		c := startCluster(t)
		c.deployed()
		informer := c.informer(options{Transform: transform.Chain(
			transform.StripManagedFields[*corev1.ConfigMap],
			transform.KeepAnnotations[*corev1.ConfigMap]("owner"),
		)})
		startInformer(t, informer)
		require.NoError(t, informer.WaitForSync(t.Context()))
		objs, err := informer.Lister().List(nil)
		require.NoError(t, err)
		for _, obj := range objs {
			require.Empty(t, obj.ManagedFields)
			require.Equal(t, map[string]string{"owner": "team-shop"}, obj.Annotations)
		}
		// The first two are not kept for the others, and now and then one more: most parts never come again.
		texts, labels, data := map[*byte]bool{}, map[unsafe.Pointer]bool{}, map[unsafe.Pointer]bool{}
		for _, obj := range objs {
			texts[unsafe.StringData(obj.Data["v"])] = true
			labels[pointerOf(obj.Labels)] = true
			data[pointerOf(obj.Data)] = true
		}
		for _, distinct := range []int{len(texts), len(labels), len(data)} {
			require.Less(t, distinct, len(objs)/2)
		}
	})
}

// isSameString reports whether two strings are in memory once.
func isSameString(a, b string) bool { return a == b && unsafe.StringData(a) == unsafe.StringData(b) }

func pointerOf(m map[string]string) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&m)) }
