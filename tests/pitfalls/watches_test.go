package pitfalls

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// A program starts a watch again without a resourceVersion.
//
// Why: without one a watch begins with an ADDED event for every object that exists. The program sees old objects again,
// and never learns what was deleted in between.
//
// You see: events after the watch broke: want [DELETED b, ADDED c], got [ADDED a, ADDED c]
//
// Instead: continue from the resourceVersion of the last event (bookmarks count), and list again when the answer is
// 410. RetryWatcher does the first, and an informer does both.
func TestPitfall_WatchingAgainWithoutAResourceVersion(t *testing.T) {
	naive := func(ctx context.Context, client typedcorev1.ConfigMapInterface, _ string) (watch.Interface, error) {
		return client.Watch(ctx, metav1.ListOptions{})
	}
	right := func(ctx context.Context, client typedcorev1.ConfigMapInterface, last string) (watch.Interface, error) {
		return client.Watch(ctx, metav1.ListOptions{ResourceVersion: last, AllowWatchBookmarks: true})
	}
	property := func(t *testing.T, again func(context.Context, typedcorev1.ConfigMapInterface, string) (watch.Interface, error)) error {
		c := startCluster(t)
		c.Put("a", "1")
		last := c.Put("b", "1").ResourceVersion
		c.Delete("b")
		c.Put("c", "1")
		w, err := again(t.Context(), c.Client.CoreV1().ConfigMaps("default"), last)
		require.NoError(t, err)
		defer w.Stop()
		return unlike("events after the watch broke", []string{"DELETED b", "ADDED c"}, events(w, time.Second))
	}
	contrast(t, property, naive, right)
}

// A WatchFunc ignores the options that it is given and makes its own.
//
// Why: with these options the caller says where the watch begins, whether it wants bookmarks, and when the watch ends.
// Without them each reconnect replays everything, and deletions in between are lost. (An informer that uses a streaming
// list waits for a bookmark that never comes. So it is never synced.)
//
// You see: events of two watches: want [ADDED c, ADDED d], got [ADDED a, ADDED b, ADDED c, ADDED a, ADDED b, ADDED c, ADDED d]
//
// Instead: change the given options (a selector, for example), and pass them on.
func TestPitfall_DroppingTheOptionsOfAWatchFunc(t *testing.T) {
	naive := func(client typedcorev1.ConfigMapInterface) cache.WatchFuncWithContext {
		return func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, metav1.ListOptions{LabelSelector: "!ignored"})
		}
	}
	right := func(client typedcorev1.ConfigMapInterface) cache.WatchFuncWithContext {
		return func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = "!ignored"
			return client.Watch(ctx, options)
		}
	}
	property := func(t *testing.T, watchFunc func(typedcorev1.ConfigMapInterface) cache.WatchFuncWithContext) error {
		c := startCluster(t)
		c.Put("a", "1")
		last := c.Put("b", "1").ResourceVersion
		lw := &cache.ListWatch{WatchFuncWithContext: watchFunc(c.Client.CoreV1().ConfigMaps("default"))}
		w, err := watchtools.NewRetryWatcherWithContext(t.Context(), last, lw)
		require.NoError(t, err)
		defer w.Stop()
		c.Put("c", "1")
		got := events(w, time.Minute)
		require.NotZero(t, c.Faults().DropWatches())
		synctest.Wait()
		c.Put("d", "1")
		return unlike("events of two watches", []string{"ADDED c", "ADDED d"}, append(got, events(w, time.Minute)...))
	}
	contrast(t, property, naive, right)
}

// A loop receives from a result channel and does not check whether it is closed.
//
// Why: every watch ends, for the server ends it within an hour. Receiving from a closed channel returns at once, with
// an event that has no type and no object. Then the loop takes a whole processor, or the process ends with a nil
// pointer.
//
// You see: events after the watch had ended: 1000, the first of type "" with the object <nil>
//
// Instead: range over the channel, or take the second value, and watch again when it is closed.
func TestPitfall_ReadingAClosedResultChannel(t *testing.T) {
	naive := func(ctx context.Context, w watch.Interface, handle func(watch.Event)) {
		for ctx.Err() == nil {
			select {
			case e := <-w.ResultChan():
				handle(e)
			case <-ctx.Done():
			}
		}
	}
	right := func(ctx context.Context, w watch.Interface, handle func(watch.Event)) {
		for {
			select {
			case e, open := <-w.ResultChan():
				if !open {
					return
				}
				handle(e)
			case <-ctx.Done():
				return
			}
		}
	}
	property := func(t *testing.T, loop func(context.Context, watch.Interface, func(watch.Event))) error {
		c := startCluster(t)
		c.Put("a", "1")
		w, err := c.Client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		defer w.Stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var handled []watch.Event
		done := make(chan struct{})
		go func() {
			defer close(done)
			loop(ctx, w, func(e watch.Event) {
				if handled = append(handled, e); len(handled) == 1001 {
					cancel() // it would never come back
				}
			})
		}()
		synctest.Wait()
		require.NotZero(t, c.Faults().DropWatches())
		<-done
		if n := len(handled) - 1; n > 0 {
			return fmt.Errorf("events after the watch had ended: %d, the first of type %q with the object %v", n, handled[1].Type, handled[1].Object)
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A program saves the resourceVersion of each event, the initial events of a watch included.
//
// Why: a watch from "" or "0" begins with an ADDED event for each object that exists, in any order of versions. Suppose
// that a program saves the version of a late change, and dies. After the restart it continues from that change, and
// never learns of the objects that were still to come.
//
// You see: objects seen, with a restart after the first event: want [a, b, c], got [a]
//
// Instead: save nothing before the bookmark that ends the initial events (sendInitialEvents), or list first and begin with the list's
// version. (Ours: listwatch/resume.)
func TestPitfall_SavingAVersionOfTheInitialEvents(t *testing.T) {
	naive := func(saved string, e watch.Event) string {
		return versionOf(e)
	}
	right := func(saved string, e watch.Event) string {
		if saved == "" && !endsInitialEvents(e) {
			return ""
		}
		return versionOf(e)
	}
	property := func(t *testing.T, save func(saved string, e watch.Event) string) error {
		c := startCluster(t)
		c.Put("a", "1")
		c.Put("b", "1")
		c.Put("c", "1")
		c.Put("a", "2") // so a, which comes first, has the greatest version
		seen, saved := map[string]bool{}, ""
		for _, patience := range []int{1, 10} { // the program dies after one event
			ctx, cancel := context.WithCancel(t.Context())
			w, err := c.Client.CoreV1().ConfigMaps("default").Watch(ctx, from(saved))
			require.NoError(t, err)
			forEach(w, patience, func(e watch.Event) {
				if e.Type != watch.Bookmark {
					seen[nameOf(e)] = true
				}
				saved = save(saved, e)
			})
			cancel()
		}
		var names []string
		for _, name := range c.Names() {
			if seen[name] {
				names = append(names, name)
			}
		}
		return unlike("objects seen, with a restart after the first event", c.Names(), names)
	}
	contrast(t, property, naive, right)
}

// from begins with what exists and says where that ends, or goes on from a version.
func from(saved string) metav1.ListOptions {
	options := metav1.ListOptions{ResourceVersion: saved, AllowWatchBookmarks: true}
	if saved == "" {
		initial := true
		options.SendInitialEvents, options.ResourceVersionMatch = &initial, metav1.ResourceVersionMatchNotOlderThan
	}
	return options
}

func endsInitialEvents(e watch.Event) bool {
	accessor, err := meta.Accessor(e.Object)
	return err == nil && e.Type == watch.Bookmark && accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

func versionOf(e watch.Event) string { return e.Object.(*corev1.ConfigMap).ResourceVersion }

func nameOf(e watch.Event) string { return e.Object.(*corev1.ConfigMap).Name }

// events returns what comes within a time, as "ADDED name".
func events(w watch.Interface, within time.Duration) []string {
	got := []string{}
	end := time.After(within)
	for {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				return got
			}
			if e.Type != watch.Bookmark {
				got = append(got, fmt.Sprintf("%s %s", e.Type, nameOf(e)))
			}
		case <-end:
			return got
		}
	}
}

// forEach hands on n events, or those of a second, and ends the watch.
func forEach(w watch.Interface, n int, handle func(watch.Event)) {
	defer w.Stop()
	end := time.After(time.Second)
	for range n {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				return
			}
			handle(e)
		case <-end:
			return
		}
	}
}
