package lens

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
)

// AddServer lets Ask, and a button on the page, ask the server how far an informer is behind. It asks through lw: best the
// one that the informer was made with, else one of the same resource, namespace and selectors.
func (l *Lens) AddServer(informer string, lw cache.ListerWatcher) {
	with := cache.ToListerWatcherWithContext(lw)
	l.addServer(informer, &server{
		list: func(ctx context.Context, opts metav1.ListOptions) (string, error) {
			list, err := with.ListWithContext(ctx, opts)
			if err != nil {
				return "", err
			}
			m, err := meta.ListAccessor(list)
			if err != nil {
				return "", err
			}
			return m.GetResourceVersion(), nil
		},
		watch: func(ctx context.Context, opts metav1.ListOptions) (versions, error) {
			w, err := with.WatchWithContext(ctx, opts)
			if err != nil {
				return versions{}, err
			}
			return versionsOf(listwatch.FromWatch[listwatch.Object](w)), nil
		},
	})
}

// AddClient is AddServer for a client of ours.
func AddClient[T listwatch.Object](l *Lens, informer string, client listwatch.ListerWatcher[T]) {
	l.addServer(informer, &server{
		list: func(ctx context.Context, opts metav1.ListOptions) (string, error) {
			list, err := client.List(ctx, opts)
			if err != nil {
				return "", err
			}
			return list.ResourceVersion, nil
		},
		watch: func(ctx context.Context, opts metav1.ListOptions) (versions, error) {
			stream, err := client.Watch(ctx, opts)
			if err != nil {
				return versions{}, err
			}
			return versionsOf(stream), nil
		},
	})
}

func (l *Lens) addServer(informer string, s *server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.informerLocked(informer).server = s
}

// Lag is what a server said when it was asked how far an informer is behind it.
type Lag struct {
	Asked time.Time `json:"asked"`
	// ServerVersion is the resourceVersion of a list. In etcd all kinds count together: that it is above the informer's does
	// not say that the informer lacks something.
	ServerVersion string `json:"serverVersion,omitempty"`
	// AheadAt is the informer's version, if the server's is lower. Then the server was restored from an older backup, and
	// nothing is known of changes.
	AheadAt string `json:"aheadAt,omitempty"`
	// Changes is how many changes the server told of that the informer had not read by then, at most 1,000.
	Changes int `json:"changes"`
	// IsComplete: the server told of all changes up to ServerVersion. Else there may be more of them.
	IsComplete bool `json:"isComplete"`
	// Error is why the server said nothing, or not all.
	Error string `json:"error,omitempty"`
}

// String says it in a few words.
func (g Lag) String() string {
	text := fmt.Sprintf("asked %v ago", time.Since(g.Asked).Round(time.Millisecond))
	switch {
	case g.Error != "":
		return text + ", it is not known: " + g.Error
	case g.AheadAt != "":
		return text + fmt.Sprintf(", the informer at %s is ahead of the server at %s by %s: was the server restored from an older backup?",
			g.AheadAt, g.ServerVersion, difference(g.AheadAt, g.ServerVersion))
	case g.Changes > 0:
		text += fmt.Sprintf(", the server at %s has %s that it has not", g.ServerVersion, count(g.Changes, "change"))
	default:
		text += fmt.Sprintf(", the server at %s has no change that it has not", g.ServerVersion)
	}
	if !g.IsComplete {
		text += ", of those told of in time"
	}
	return text
}

// difference returns a - b of two resourceVersions that can be compared: decimal numbers of any length.
func difference(a, b string) string {
	x, _ := new(big.Int).SetString(a, 10)
	y, _ := new(big.Int).SetString(b, 10)
	return x.Sub(x, y).String()
}

// server is a server as it is asked for one kind.
type server struct {
	list  func(context.Context, metav1.ListOptions) (version string, err error)
	watch func(context.Context, metav1.ListOptions) (versions, error)
}

// versions is a watch of which only the resourceVersions matter.
type versions struct {
	next  func() (version string, isChange bool, err error)
	close func() error
}

func versionsOf[T listwatch.Object](stream listwatch.Stream[T]) versions {
	next := func() (version string, isChange bool, err error) {
		e, err := stream.Next()
		return e.ResourceVersion, e.Type != listwatch.Bookmark, err
	}
	return versions{next, stream.Close}
}

// ErrCannotAsk is what Ask returns of an informer that is not known, has ended, or has no AddServer.
var ErrCannotAsk = errors.New("it has ended, or AddServer was not called for it")

// askSeconds is how long the watch of an Ask lasts. A server sends a bookmark two seconds before the end.
const askSeconds = 3

// askTimeout bounds an Ask as a whole.
const askTimeout = 10 * time.Second

// Ask asks the server how far an informer is behind it, or ahead: with one list of one object, and if that is newer than
// the informer, with a watch of 3 seconds from the informer's version. It counts the changes that the watch tells of and that
// the informer has not read when the watch has told them all. What was read may still wait for the store or a handler.
// Nothing but versions is kept.
func (l *Lens) Ask(ctx context.Context, informer string) (Lag, error) {
	l.mu.Lock()
	state := l.informers[informer]
	if state == nil || state.server == nil || state.informer == nil {
		l.mu.Unlock()
		return Lag{}, fmt.Errorf("informer %q: %w", informer, ErrCannotAsk)
	}
	asked, of := state.server, state.informer
	l.mu.Unlock()

	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer in %v", askTimeout))
	defer cancel()
	lag := Lag{Asked: time.Now()}
	err := asked.compare(ctx, *of, &lag)
	if err != nil {
		lag.Error = oneLine(err.Error())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if state.informer == of { // and not the next one of that name
		state.lag = lag
	}
	return lag, err
}

// compare fills in how far an informer is behind the server.
func (s *server) compare(ctx context.Context, informer SyncedInformer, lag *Lag) error {
	from := informer.LastSyncResourceVersion()
	if from == "" {
		return errors.New("the informer has not listed yet")
	}
	if err := rv.Check(from); err != nil {
		return err
	}
	version, err := s.list(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return because(ctx, err)
	}
	if err := rv.Check(version); err != nil {
		return err
	}
	lag.ServerVersion = version
	if rv.IsOlder(version, from) { // although the list was made after the informer had read from
		lag.AheadAt = from
		return nil
	}
	if !rv.IsOlder(informer.LastSyncResourceVersion(), version) {
		lag.IsComplete = true
		return nil
	}
	changes, isComplete, err := s.changes(ctx, from, version)
	if rv.IsExpired(err) {
		return fmt.Errorf("the server no longer has what came after %s, so the informer has to list again: %w", from, err)
	}
	if err != nil {
		return because(ctx, err)
	}
	read := informer.LastSyncResourceVersion()
	changes = slices.DeleteFunc(changes, func(change string) bool { return !rv.IsOlder(read, change) })
	lag.Changes, lag.IsComplete = len(changes), isComplete
	return nil
}

// changes returns the versions of the changes after from that a watch tells of, and whether it told of all until that one.
func (s *server) changes(ctx context.Context, from, until string) (changes []string, isComplete bool, err error) {
	seconds := int64(askSeconds)
	w, err := s.watch(ctx, metav1.ListOptions{ResourceVersion: from, AllowWatchBookmarks: true, TimeoutSeconds: &seconds})
	if err != nil {
		return nil, false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = w.close() })
	defer func() {
		stop()
		_ = w.close()
	}()
	for len(changes) < maxEvents {
		version, isChange, err := w.next()
		var unreadable *listwatch.ObjectError
		if errors.As(err, &unreadable) {
			version, isChange, err = unreadable.ResourceVersion, true, nil
		}
		if errors.Is(err, io.EOF) {
			return changes, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		if isChange {
			changes = append(changes, version)
		}
		if rv.IsComparable(version) && !rv.IsOlder(version, until) {
			return changes, true, nil
		}
	}
	return changes, false, nil
}

// because returns the cause of a context that has ended, else the error.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
