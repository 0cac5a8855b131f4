package apiserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/storage"
)

// batch is how many events a watch takes from the history at once.
const batch = 128

// watcher is one running watch. It belongs to the goroutine of its request.
type watcher struct {
	request  *request
	sel      selection
	opts     *metav1.ListOptions
	events   *storage.Watcher
	frames   *frameWriter
	deadline time.Time
}

func (r *request) watch(w http.ResponseWriter) error {
	opts, err := r.listOptions()
	if err != nil {
		return err
	}
	sel, err := r.selection(opts)
	if err != nil {
		return err
	}
	rev, err := parseRevision(opts.ResourceVersion)
	if err != nil {
		return err
	}
	timeout := r.server.options.MinWatchTimeout
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 {
		timeout = time.Duration(*opts.TimeoutSeconds) * time.Second
	} else {
		timeout += rand.N(timeout)
	}
	ctx, cancel := context.WithTimeout(r.http.Context(), timeout)
	defer cancel()
	control := r.server.faults.enter()
	defer r.server.faults.leave(control)
	watcher := &watcher{request: r, sel: sel, opts: opts, frames: newFrameWriter(r, w), deadline: time.Now().Add(timeout)}
	if opts.SendInitialEvents != nil && !*opts.SendInitialEvents && rev == 0 {
		// Only the future, which begins before the client is told that it is being watched.
		_, _, watcher.events = r.server.store.SnapshotAndWatch(r.table)
	}
	if err := watcher.frames.begin(); err != nil {
		return nil // the client is gone; there is nobody to tell
	}
	watcher.run(ctx, rev, control)
	return nil
}

// run ends when the client is gone, the time is up, a fault says so or the stream has failed.
func (w *watcher) run(ctx context.Context, rev int64, control *watchControl) {
	if !w.start(rev) {
		return
	}
	bookmark := time.NewTimer(w.nextBookmark())
	defer bookmark.Stop()
	due := false // a bookmark, as soon as everything up to its revision has been sent
	var buffer []storage.Event
	for {
		events, seen, changed, err := w.events.Poll(buffer[:0], batch)
		if err != nil {
			return // too slow, or the resource is gone: the stream ends and the client starts again
		}
		buffer = events
		for _, e := range events {
			if !w.send(e) {
				return
			}
		}
		if len(events) > 0 && !w.frames.flush() {
			return
		}
		if due && changed != nil {
			due = false
			if w.bookmarkAllowed(seen) && !w.bookmark(seen, false) {
				return
			}
		}
		if changed == nil {
			changed = ready // there may be more, but look at the other channels first
		}
		select {
		case <-ctx.Done():
			return
		case o := <-control.orders:
			w.obey(o)
			return
		case <-bookmark.C:
			due = true
			bookmark.Reset(w.nextBookmark())
		case <-changed:
		}
	}
}

// ready is always readable.
var ready = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// bookmarkAllowed tells whether a periodic bookmark may say that seen has been seen: not while that is in the future.
func (w *watcher) bookmarkAllowed(seen int64) bool {
	periodic, _ := w.request.server.faults.bookmarks()
	return periodic && w.opts.AllowWatchBookmarks && seen <= w.request.server.store.Revision()
}

// start sends what comes before the changes and sets w.events.
func (w *watcher) start(rev int64) bool {
	store, table := w.request.server.store, w.request.table
	streamingList := w.opts.SendInitialEvents != nil && *w.opts.SendInitialEvents
	switch {
	case streamingList:
		if err := w.request.waitFor(rev); err != nil {
			w.fail(statusOf(err))
			return false
		}
		return w.startWithObjects(w.opts.AllowWatchBookmarks)
	case rev > 0:
		var err error
		w.events, err = store.Watch(table, rev)
		var gone *storage.ExpiredError
		if errors.As(err, &gone) {
			status := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", gone.Requested, gone.Oldest)).Status()
			w.fail(&status)
			return false
		}
		return err == nil
	case w.events != nil:
		return true
	default:
		return w.startWithObjects(false)
	}
}

// startWithObjects sends the objects there are as additions and, if asked to, the bookmark that says they were all.
func (w *watcher) startWithObjects(announceEnd bool) bool {
	tree, rev, events := w.request.server.store.SnapshotAndWatch(w.request.table)
	w.events = events
	for _, obj := range tree.Range(w.sel.from, w.sel.to) {
		if w.sel.matches(obj) && !w.frames.object(watch.Added, obj) {
			return false
		}
	}
	if _, initialEnd := w.request.server.faults.bookmarks(); announceEnd && initialEnd && !w.bookmark(rev, true) {
		return false
	}
	return w.frames.flush()
}

// send translates a change into what somebody with this selection sees of it.
func (w *watcher) send(e storage.Event) bool {
	if !w.sel.holdsKey(e.Key) {
		return true
	}
	before := e.Type != storage.Added && w.sel.matches(e.Previous)
	after := e.Type != storage.Deleted && w.sel.matches(e.Object)
	switch {
	case after && before:
		return w.frames.object(watch.Modified, e.Object)
	case after:
		return w.frames.object(watch.Added, e.Object)
	case before && e.Type == storage.Deleted:
		return w.frames.object(watch.Deleted, e.Object)
	case before: // it left the selection: its last state within, at the revision at which it left
		last := e.Previous.DeepCopyObject().(resource.Object)
		last.SetResourceVersion(strconv.FormatInt(e.Revision, 10))
		return w.frames.object(watch.Deleted, last)
	}
	return true
}

func (w *watcher) bookmark(rev int64, initialEnd bool) bool {
	obj := w.request.New()
	obj.GetObjectKind().SetGroupVersionKind(w.request.GVK)
	obj.SetResourceVersion(strconv.FormatInt(rev, 10))
	if initialEnd {
		obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return w.frames.object(watch.Bookmark, obj) && w.frames.flush()
}

// nextBookmark is the time till the next one: the interval, or two seconds before the end if that comes first.
func (w *watcher) nextBookmark() time.Duration {
	interval := w.request.server.options.BookmarkInterval
	if beforeEnd := time.Until(w.deadline) - 2*time.Second; beforeEnd > 0 && beforeEnd < interval {
		return beforeEnd
	}
	return interval
}

func (w *watcher) obey(o order) {
	if o.status != nil {
		w.fail(o.status)
	}
	if o.abort {
		panic(http.ErrAbortHandler)
	}
}

// fail sends an ERROR event. It changes a copy: one order may go to many watches.
func (w *watcher) fail(status *metav1.Status) {
	status = status.DeepCopy()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	if w.frames.raw(watch.Error, status) {
		w.frames.flush()
	}
}
