package reflector

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
)

// checkConsistency compares what a streaming list brought with a list at exactly its version. It returns an
// ErrInconsistent that names the first difference; nil if there is none, or if the server would not give that list.
func (r *Reflector[T]) checkConsistency(ctx context.Context, set *initialSet[T], version string) error {
	opts := metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	list, err := listwatch.ListAll(ctx, r.lw, opts, defaultPageSize)
	if err != nil {
		logger := klog.FromContext(ctx).V(2)
		logger.Info("No list to check a streaming list against", "reflector", r.opts.Name, "err", err)
		return nil
	}
	listed := map[listwatch.Key]bool{}
	for _, bad := range list.Bad {
		listed[bad.Key] = true
	}
	for _, obj := range list.Items {
		key := listwatch.KeyOf(obj)
		listed[key] = true
		i, ok := set.index[key]
		if !ok {
			return fmt.Errorf("%w: at %s it lacks %q", ErrInconsistent, version, key)
		}
		want := obj.GetResourceVersion()
		if i != unreadable && set.items[i].GetResourceVersion() != want {
			got := set.items[i].GetResourceVersion()
			return fmt.Errorf("%w: at %s it has %q at %s instead of %s", ErrInconsistent, version, key, got, want)
		}
	}
	if listed[listwatch.Key{}] {
		return nil // an item that does not tell its name may be any of those that seem to be missing
	}
	for key := range set.index {
		if !listed[key] {
			return fmt.Errorf("%w: at %s it has %q, which is not there", ErrInconsistent, version, key)
		}
	}
	return nil
}
