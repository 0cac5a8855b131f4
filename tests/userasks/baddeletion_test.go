package userasks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

// A DELETED event comes with an object that nobody can read, and again when it is asked for once more. Whatever it was, its
// object must not stay in the store: a list finds it missing.
func TestADeletionThatCannotBeReadIsHeard(t *testing.T) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		hears := func(t *testing.T, run func(t *testing.T, c *cluster, told *notes)) {
			c, told := startCluster(t), &notes{}
			c.cfg = rest.CopyConfig(c.cfg)
			c.cfg.ContentType = contentType
			c.Put("a", "1")
			c.Put("b", "1")
			run(t, c, told)
			apiservertest.Pass(time.Minute)
			require.ElementsMatch(t, []string{"add a", "add b"}, told.read())
			c.Faults().GarbleNextFrame()
			c.Faults().GarbleNextFrame() // of the watch that asks for it once more, or of what follows
			c.Delete("a")
			apiservertest.Pass(time.Minute)
			require.Contains(t, told.read(), "delete a")
		}
		untyped := func(informer func(c *cluster) cache.SharedIndexInformer) func(t *testing.T) {
			return func(t *testing.T) {
				hears(t, func(t *testing.T, c *cluster, told *notes) {
					i := informer(c)
					tellAll(t, i, told)
					start(t, i.RunWithContext)
				})
			}
		}
		t.Run(contentType, func(t *testing.T) {
			clientGo(t, untyped(func(c *cluster) cache.SharedIndexInformer { return c.clientGoInformer(cache.Indexers{}) }))
			glasswatch(t, func(t *testing.T) {
				hears(t, func(t *testing.T, c *cluster, told *notes) {
					i := c.informer(options{WatchErrorHandler: quiet, OnObjectError: func(listwatch.Key, error) {}})
					_, err := i.AddHandler(telling(told), handlerOptions{})
					require.NoError(t, err)
					startInformer(t, i)
				})
			})
			glasswatch(t, untyped((*cluster).compatInformer))
		})
	}
}
