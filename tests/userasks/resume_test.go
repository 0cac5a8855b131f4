package userasks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch/resume"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/checkpoint"
)

// A program is restarted, as with each deployment, in a cluster of a hundred thousand objects of which ten have changed.
func TestAProgramStartsWithoutAList(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c := startCluster(t)
		c.Put("a", "1")
		for range 2 {
			informer := c.clientGoInformer(nil)
			stop := start(t, informer.RunWithContext)
			require.True(t, cache.WaitFor(t.Context(), "", informer.HasSyncedChecker()))
			stop()
			// A store lives as long as its informer. Each start transfers everything.
			require.Equal(t, []string{"streaming list"}, c.Asked())
			c.Put("a", "2")
		}
	})
	path := filepath.Join(t.TempDir(), "configmaps")
	glasswatch(t, func(t *testing.T) {
		c := startCluster(t)
		c.Put("a", "1")
		c.Put("b", "1")
		c.runFrom(path, "home", func(_ *sharedinformer.Informer[*corev1.ConfigMap], told *notes) {
			require.ElementsMatch(t, []string{"add a", "add b"}, told.read())
		})
		require.Equal(t, []string{"streaming list"}, c.Asked())

		c.Put("a", "2")
		c.Delete("b")
		c.runFrom(path, "home", func(informer *sharedinformer.Informer[*corev1.ConfigMap], told *notes) {
			apiservertest.Pass(time.Minute)
			// First what the file holds, as the initial list; then what happened since.
			lines := told.read()
			require.ElementsMatch(t, []string{"add a", "add b"}, lines[:2])
			require.Equal(t, []string{"update a", "delete b"}, lines[2:])
			require.Equal(t, 1, informer.Store().Len())
		})
		require.Equal(t, []string{"one", "watch"}, c.Asked())
	})
}

// Files get old, get lost between clusters, and get damaged. None of that may make a wrong cache. (client-go has no file that
// could be wrong.)
func TestACheckpointThatCannotBeTrustedIsAListInstead(t *testing.T) {
	type world struct {
		*cluster
		path string
	}
	for _, c := range []struct {
		what, log string
		spoil     func(w world) (cluster string)
	}{
		{"stale", "too old resource version", func(w world) string {
			w.Faults().Compact() // the changes since are forgotten
			return "home"
		}},
		{"foreign", "about something else", func(world) string { return "away" }},
		{"damaged", "damaged", func(w world) string {
			bytes, err := os.ReadFile(w.path)
			require.NoError(w, err)
			bytes[len(bytes)/2] ^= 1
			require.NoError(w, os.WriteFile(w.path, bytes, 0o600))
			return "home"
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "configmaps")
			glasswatch(t, func(t *testing.T) {
				w := world{startCluster(t), path}
				w.Put("a", "1")
				w.Put("b", "1")
				w.runFrom(path, "home", func(*sharedinformer.Informer[*corev1.ConfigMap], *notes) {})
				w.Put("a", "2")
				w.Delete("b")
				home := c.spoil(w)
				w.Asked()
				logged := w.runFrom(path, home, func(informer *sharedinformer.Informer[*corev1.ConfigMap], told *notes) {
					apiservertest.Pass(time.Minute)
					require.Equal(t, 1, informer.Store().Len())
					a, err := informer.Lister().Namespace("default").Get("a")
					require.NoError(t, err)
					require.Equal(t, "2", a.Data["v"])
				})
				require.Contains(t, w.Asked(), "streaming list")
				require.Contains(t, logged, c.log)
				require.Contains(t, logged, "listing")
			})
		})
	}
}

// A program that must miss nothing, an audit or a biller, watches without a cache. It is restarted, and while it is away
// something comes and goes.
func TestAPlainWatchResumesAfterARestart(t *testing.T) {
	whileAway := func(c *cluster) {
		c.Put("short-lived", "1")
		c.Delete("short-lived")
	}
	clientGo(t, func(t *testing.T) {
		c := startCluster(t)
		maps := c.Client.CoreV1().ConfigMaps("default")
		live := func() (watch.Interface, []corev1.ConfigMap) {
			list, err := maps.List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			w, err := watchtools.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, &cache.ListWatch{
				WatchFuncWithContext: maps.Watch})
			require.NoError(t, err)
			return w, list.Items
		}
		first, _ := live()
		c.Put("a", "1")
		require.Equal(t, watch.Added, (<-first.ResultChan()).Type)
		first.Stop()
		for range first.ResultChan() {
		}
		whileAway(c)
		// A RetryWatcher knows where it is while it lives, tells nobody, and needs a version to start from. Where to keep one
		// is the program's affair (and a bookmark, which would keep it young, is not passed on); without, it lists.
		second, there := live()
		defer second.Stop()
		c.Put("last", "1")
		event := <-second.ResultChan()
		require.Equal(t, "last", event.Object.(*corev1.ConfigMap).Name)
		require.Len(t, there, 1, "only a: nothing tells of what was there for a while")
	})
	path := filepath.Join(t.TempDir(), "position")
	glasswatch(t, func(t *testing.T) {
		c := startCluster(t)
		live := func(from string) *resume.Watch[*corev1.ConfigMap] {
			w, err := resume.NewWatch(t.Context(), c.listerWatcher(), metav1.ListOptions{ResourceVersion: from},
				resume.Options{Path: path, Cluster: "home"})
			require.NoError(t, err)
			return w
		}
		next := func(w *resume.Watch[*corev1.ConfigMap]) string {
			event, err := w.Next()
			require.NoError(t, err)
			require.NoError(t, w.Commit(event.ResourceVersion)) // after the work
			return fmt.Sprint(event.Type, " ", event.Object.Name)
		}
		list, err := c.listerWatcher().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		first := live(list.ResourceVersion)
		c.Put("a", "1")
		require.Equal(t, "ADDED a", next(first))
		require.NoError(t, first.Close())
		whileAway(c)
		second := live("")
		defer second.Close()
		c.Put("last", "1")
		require.Equal(t, "ADDED short-lived", next(second))
		require.Equal(t, "DELETED short-lived", next(second))
		require.Equal(t, "ADDED last", next(second))
	})
}

// runFrom is one life of a program with a checkpoint. It returns what was logged.
func (c *cluster) runFrom(path, home string, tell func(informer *sharedinformer.Informer[*corev1.ConfigMap], told *notes)) string {
	informer, err := checkpoint.New(c.listerWatcher(), options{WatchErrorHandler: quiet}, checkpoint.Options{Path: path, Cluster: home})
	require.NoError(c, err)
	told, logged := &notes{}, &notes{}
	_, err = informer.AddHandler(telling(told), handlerOptions{})
	require.NoError(c, err)
	logger := funcr.New(func(_, line string) { logged.add("%s", line) }, funcr.Options{})
	stop := start(c, func(ctx context.Context) { _ = informer.Run(klog.NewContext(ctx, logger)) })
	require.NoError(c, informer.WaitForSync(c.Context()))
	tell(informer.Informer, told)
	stop()
	return strings.Join(logged.read(), "\n")
}
