package listwatch

import (
	"context"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// IfReached returns lw with one difference: its first watch from version, which came from a disk, begins only if the server
// has come to that version. A server that was set back to a backup has not, and would be silent until it has, and then send
// what is after a version that means something else by now. Such a watch is refused as one that is too old, with a 410.
//
// It costs one list of one object, which shows the server's version. What goes wrong with that is returned by Watch, and the
// next one asks again.
func IfReached[T Object](lw ListerWatcher[T], version string) ListerWatcher[T] {
	return &ifReached[T]{ListerWatcher: lw, version: version}
}

type ifReached[T Object] struct {
	ListerWatcher[T]
	version string
	asked   atomic.Bool
}

func (l *ifReached[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	isList := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if opts.ResourceVersion == l.version && !isList && !l.asked.Load() {
		if err := l.ask(ctx, opts); err != nil {
			return nil, err
		}
		l.asked.Store(true)
	}
	return l.ListerWatcher.Watch(ctx, opts)
}

func (l *ifReached[T]) ask(ctx context.Context, watch metav1.ListOptions) error {
	// Without a resourceVersion: the answer is not that of a cache, which may be behind.
	list, err := l.List(ctx, metav1.ListOptions{LabelSelector: watch.LabelSelector, FieldSelector: watch.FieldSelector, Limit: 1})
	if err != nil {
		return err
	}
	order, err := resourceversion.CompareResourceVersion(list.ResourceVersion, l.version)
	if err != nil {
		return apierrors.NewResourceExpired(fmt.Sprintf("the kept resourceVersion %q cannot be compared with the server's %q: %v", l.version, list.ResourceVersion, err))
	}
	if order < 0 {
		return apierrors.NewResourceExpired(fmt.Sprintf("the kept resourceVersion %s is ahead of the server, which is at %s: it was set back", l.version, list.ResourceVersion))
	}
	return nil
}
