package resume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/klog/v2"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
)

var (
	// ErrNoPosition: there is nothing on disk to resume from. It wraps why.
	ErrNoPosition = errors.New("no position to resume from: " +
		"list, handle what is there, and start from the list's resourceVersion")
	// ErrPositionLost: the server no longer remembers what came after the position. It wraps the server's 410.
	ErrPositionLost = errors.New("the server no longer has the events after the position: " +
		"list, compare, and start from the list's resourceVersion")
	// ErrNotDelivered: a position was to be committed that Next has not come to.
	ErrNotDelivered = errors.New("not delivered by this watch")
)

// Watch is a [Stream] whose position outlives the program: the resourceVersion up to which the program
// has done its work, in a file.
//
//	position in the file ──▶ watch from there ──▶ Next ──▶ the program's work ──▶ Commit ──▶ position in the file
//
// Every event after the position is delivered at least once, in the server's order. What was delivered and not
// committed when the program died comes again. So Commit is called after the work, and the work must bear to be done
// twice.
//
// A server remembers some minutes. After a longer pause Next returns ErrPositionLost: the events between are lost, and
// a list shows only what is there now. So it does if the server was set back to a backup from before the position: see
// [RejectIfServerBehind].
type Watch[T listwatch.Object] struct {
	stream    *Stream[T]
	path      string
	id        Identity
	onError   func(err error)
	bookmarks bool // whether the caller asked for them; the stream always does

	// saving is held while the file is written, so that an older position never takes the place of a newer one. It is
	// taken before mu.
	saving sync.Mutex

	mu        sync.Mutex // protects what follows
	committed string     // what is in the file
	delivered string     // the version of the last event; "" if it did not tell
	furthest  string     // the greatest version that was delivered
	// open: something was delivered that is not committed, so a bookmark must not move the position.
	open bool
}

// Options say where the position is, and of what.
type Options struct {
	// Path is the file. Its folder must exist; beside it, a ".tmp" of that name is used. Each watch needs its own.
	Path string
	// Cluster tells the cluster from others, as [ClusterID] does. It must not be empty.
	Cluster string
	// Source is what is listed and watched. Empty: what [SourceOf] says, and that must not be empty then. The
	// selectors of the ListOptions are added.
	Source string
	// OnError is told, in the goroutine that calls Next, why a watch ended before the next one is tried, and why the
	// position of a bookmark was not written. nil logs.
	OnError func(err error)
}

// NewWatch returns a watch that resumes from the position in the file. If opts has a ResourceVersion, it
// starts there instead, and makes that the position before it returns. It connects at the first Next. Close it, or
// cancel ctx.
//
// The error is ErrNoPosition if there is no ResourceVersion and no position that can be trusted: the file is missing,
// damaged, or about another cluster, resource or selector.
func NewWatch[T listwatch.Object](
	ctx context.Context, lw listwatch.ListerWatcher[T], opts metav1.ListOptions, options Options,
) (*Watch[T], error) {
	w := &Watch[T]{path: options.Path, onError: options.OnError, bookmarks: opts.AllowWatchBookmarks}
	if w.onError == nil {
		w.onError = func(err error) { klog.FromContext(ctx).Info("Resumable watch", "path", options.Path, "err", err) }
	}
	source := options.Source
	if source == "" {
		source = SourceOf(lw)
	}
	switch {
	case options.Path == "":
		return nil, errors.New("resume: a resumable watch needs a Path")
	case options.Cluster == "":
		return nil, errors.New("resume: a resumable watch needs the identity of its Cluster")
	case source == "":
		return nil, fmt.Errorf("resume: a %T does not say what it watches: set Source", lw)
	}
	source = fmt.Sprintf("%s label %q field %q", source, opts.LabelSelector, opts.FieldSelector)
	w.id = Identity{Kind: "position", Cluster: options.Cluster, Source: source}

	given := opts.ResourceVersion
	if given == "" {
		position, err := w.load()
		if err != nil {
			return nil, fmt.Errorf("resume: %w (%w)", ErrNoPosition, err)
		}
		opts.ResourceVersion = position
		lw = RejectIfServerBehind(lw, position)
	}
	w.committed, w.delivered, w.furthest = opts.ResourceVersion, opts.ResourceVersion, opts.ResourceVersion
	opts.AllowWatchBookmarks = true
	stream, err := NewStream(ctx, lw, opts, w.onError)
	if err != nil {
		return nil, err
	}
	w.stream = stream
	if given != "" {
		if err := w.save(given); err != nil {
			_ = stream.Close()
			return nil, err
		}
	}
	return w, nil
}

func (w *Watch[T]) load() (string, error) {
	frames, err := Load(w.path, w.id)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no %s", w.path)
	}
	if err != nil {
		return "", err
	}
	if len(frames) != 1 || len(frames[0]) == 0 {
		return "", fmt.Errorf("%s: %w: it has no position", w.path, ErrDamaged)
	}
	return string(frames[0]), nil
}

func (w *Watch[T]) save(position string) error {
	return Save(w.path, w.id, func(write func(frame []byte)) error {
		write([]byte(position))
		return nil
	})
}

// Position is the resourceVersion that the next watch of this file resumes from.
func (w *Watch[T]) Position() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.committed
}

// Close implements Stream. The position stays where it was committed.
func (w *Watch[T]) Close() error { return w.stream.Close() }

// Next implements Stream, and blocks like that of a [Stream]. What it returns is not committed by it, nor by the
// next call. While nothing delivered waits for a Commit, bookmarks move the position, so that it does not grow old
// with a resource that never changes.
//
// A 410 is ErrPositionLost. The position stays in the file until another watch is given a ResourceVersion.
func (w *Watch[T]) Next() (listwatch.Event[T], error) {
	for {
		ev, err := w.stream.Next()
		var bad *listwatch.ObjectError
		switch {
		case err == nil && ev.Type == listwatch.Bookmark:
			w.takeBookmark(ev.ResourceVersion)
			if !w.bookmarks {
				continue
			}
		case err == nil:
			w.deliver(ev.ResourceVersion)
		case errors.As(err, &bad):
			w.deliver(bad.ResourceVersion)
		case rv.IsExpired(err):
			err = fmt.Errorf("resume: position %s: %w: %w", w.stream.opts.ResourceVersion, ErrPositionLost, err)
		}
		return ev, err
	}
}

func (w *Watch[T]) deliver(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = true
	w.delivered, w.furthest = version, later(w.furthest, version)
}

// takeBookmark moves the position, unless work is under way. That it could not be written costs nothing but time.
func (w *Watch[T]) takeBookmark(version string) {
	w.mu.Lock()
	open := w.open
	if !open {
		w.delivered, w.furthest = version, later(w.furthest, version)
	}
	w.mu.Unlock()
	if open {
		return
	}
	if err := w.Commit(version); err != nil {
		w.onError(fmt.Errorf("position of a bookmark: %w", err))
	}
}

// Commit says that the work is done for every event up to that resourceVersion, which is the ResourceVersion of an
// event, or of an *ObjectError, that Next has returned. A bookmark that came while one of these waited for its Commit
// cannot be committed. Commit returns when the disk has it: to commit each event costs a sync of the disk each, and it
// is as well to commit the last of many. A version before the position changes nothing.
// It may be called from any goroutine, after Close too; workers that finish out of order must commit none before
// those delivered earlier.
//
// ErrNotDelivered is a version that Next has not come to: committing it would skip events. After an error of the disk
// the position is the one before, and Commit may be tried again.
func (w *Watch[T]) Commit(resourceVersion string) error {
	w.saving.Lock()
	defer w.saving.Unlock()
	forward, err := w.check(resourceVersion)
	if err != nil {
		return fmt.Errorf("resume: cannot commit resourceVersion %q: %w", resourceVersion, err)
	}
	if forward {
		if err := w.save(resourceVersion); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if forward {
		w.committed = resourceVersion
	}
	if resourceVersion == w.delivered {
		w.open = false
	}
	return nil
}

// check reports whether a commit of version moves the position.
func (w *Watch[T]) check(version string) (forward bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if version == "" {
		return false, ErrNotDelivered
	}
	if version != w.delivered {
		order, err := resourceversion.CompareResourceVersion(version, w.furthest)
		if err != nil || order > 0 {
			return false, ErrNotDelivered
		}
	}
	order, err := resourceversion.CompareResourceVersion(version, w.committed)
	if err != nil { // versions that cannot be compared move on in the order of delivery
		return version == w.delivered && version != w.committed, nil
	}
	return order > 0, nil
}
