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
	first    *snapshot      // the objects there are, if they are sent before the changes
	refusal  *metav1.Status // in place of all events
	frames   *frameWriter
	deadline time.Time
}

type snapshot struct {
	tree        storage.Tree
	revision    int64
	announceEnd bool // with a bookmark that ends them
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
	// A client that got the header misses no later write.
	if err := watcher.open(rev); err != nil {
		return err
	}
	if err := watcher.frames.begin(); err != nil {
		return nil // the client is gone, so there is no answer
	}
	watcher.run(ctx, control)
	return nil
}

// run ends when the client is gone, at the timeout, by a fault, when the definition changes, or when the stream has failed.
func (w *watcher) run(ctx context.Context, control *watchControl) {
	if !w.start() {
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
			changed = ready // there may be more, but the other channels come first
		}
		select {
		case <-ctx.Done():
			return
		case <-w.request.retired:
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

// open finds out where the watch begins: it sets events, or refusal, and first.
func (w *watcher) open(rev int64) (err error) {
	store, table := w.request.server.store, w.request.table
	initial := rev == 0
	if w.opts.SendInitialEvents != nil {
		initial = *w.opts.SendInitialEvents
	}
	switch {
	case initial:
		if err := w.request.waitFor(rev); err != nil {
			w.refusal = statusOf(err)
			return nil
		}
		w.first = &snapshot{announceEnd: w.opts.SendInitialEvents != nil && w.opts.AllowWatchBookmarks}
		w.first.tree, w.first.revision, w.events = store.SnapshotAndWatch(table)
	case rev == 0: // only the future
		_, _, w.events = store.SnapshotAndWatch(table)
	default:
		w.events, err = store.Watch(table, rev)
		var gone *storage.ExpiredError
		if errors.As(err, &gone) {
			w.refusal = statusOf(apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", gone.Requested, gone.Oldest)))
			return nil
		}
	}
	return err
}

// start sends what comes before the changes.
func (w *watcher) start() bool {
	if w.refusal != nil {
		w.fail(w.refusal)
		return false
	}
	if w.first == nil {
		return true
	}
	first := w.first
	w.first = nil // a watch is long, and deleted objects can be freed meanwhile
	for _, obj := range first.tree.Range(w.sel.from, w.sel.to) {
		if w.sel.matches(obj) && !w.frames.object(watch.Added, obj) {
			return false
		}
	}
	if _, initialEnd := w.request.server.faults.bookmarks(); first.announceEnd && initialEnd && !w.bookmark(first.revision, true) {
		return false
	}
	return w.frames.flush()
}

// send translates a change into the event for this selection.
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
	case before: // it was deleted, or does not match any more: its last matching state, at the revision of this change
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
