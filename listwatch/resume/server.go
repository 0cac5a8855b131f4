package resume

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch"
)

// RejectIfServerBehind returns lw with one difference. Its first watch from version, which came from a disk, begins
// only if the server has reached that version. Otherwise the watch is refused like one that is too old, with a 410.
//
// A server that was restored from a backup is behind. It would be silent until it reaches that version, which means
// something else by then.
//
// This costs one list of one object, which shows the server's version. Watch returns the error of that list, and the
// next Watch asks again.
func RejectIfServerBehind[T listwatch.Object](
	lw listwatch.ListerWatcher[T], version string,
) listwatch.ListerWatcher[T] {
	return &rejecting[T]{ListerWatcher: lw, version: version}
}

type rejecting[T listwatch.Object] struct {
	listwatch.ListerWatcher[T]
	version string
	checked atomic.Bool
}

func (l *rejecting[T]) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[T], error) {
	isList := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if opts.ResourceVersion == l.version && !isList && !l.checked.Load() {
		if err := l.check(ctx, opts); err != nil {
			return nil, err
		}
		l.checked.Store(true)
	}
	return l.ListerWatcher.Watch(ctx, opts)
}

func (l *rejecting[T]) check(ctx context.Context, watch metav1.ListOptions) error {
	// Without a resourceVersion, a cache that may be behind must not answer.
	opts := metav1.ListOptions{LabelSelector: watch.LabelSelector, FieldSelector: watch.FieldSelector, Limit: 1}
	list, err := l.List(ctx, opts)
	if err != nil {
		return err
	}
	order, err := resourceversion.CompareResourceVersion(list.ResourceVersion, l.version)
	if err != nil {
		const text = "the kept resourceVersion %q cannot be compared with the server's %q: %v"
		return apierrors.NewResourceExpired(fmt.Sprintf(text, l.version, list.ResourceVersion, err))
	}
	if order < 0 {
		const text = "the kept resourceVersion %s is ahead of the server, which is at %s: it was set back"
		return apierrors.NewResourceExpired(fmt.Sprintf(text, l.version, list.ResourceVersion))
	}
	return nil
}

// SourceOf returns what lw says that it lists and watches: its Source method, as a [listwatch.Client] has one. It is ""
// for a ListerWatcher without one.
func SourceOf[T listwatch.Object](lw listwatch.ListerWatcher[T]) string {
	if says, ok := lw.(interface{ Source() string }); ok {
		return says.Source()
	}
	return ""
}

// ClusterID tells clusters apart: it is the server's URL and, if the caller may read it, the UID of the namespace
// kube-system, which another cluster behind the same URL does not have. It asks the server. Refusals (401, 403, 404)
// leave the URL alone. Other errors are returned: the ID must not depend on whether the server is in trouble.
//
// Without that right, a cluster that was rebuilt behind the same URL has the ID of the one before. What was kept of
// that one may be taken for its own then. Programs that may not read the namespace set an ID of their own.
func ClusterID(ctx context.Context, cfg *rest.Config) (string, error) {
	if cfg == nil {
		return "", errors.New("resume: no REST config")
	}
	client, err := corev1.NewForConfig(cfg)
	if err != nil {
		return "", fmt.Errorf("resume: %w", err)
	}
	url := *client.RESTClient().Get().URL()
	url.Path = ""
	namespace, err := client.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsNotFound(err):
		return url.String(), nil
	case err != nil:
		return "", fmt.Errorf("resume: cluster at %s: %w", url.String(), err)
	case namespace.UID == "":
		return "", errors.New("resume: the namespace kube-system has no UID")
	}
	return url.String() + " " + string(namespace.UID), nil
}
