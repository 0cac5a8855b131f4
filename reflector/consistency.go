package reflector

import (
	"context"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// isConsistent compares a streaming list with a list at exactly its version. It is true as well if the server would not
// give that list, or gave one that cannot be read.
func (r *Reflector[T]) isConsistent(ctx context.Context, streamed *listwatch.List[T]) bool {
	opts := metav1.ListOptions{
		ResourceVersion:      streamed.ResourceVersion,
		ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	}
	list, err := listwatch.ListAll(ctx, r.lw, opts, defaultPageSize)
	return err != nil || len(list.Bad) > 0 || maps.Equal(versions(streamed), versions(list))
}

// versions returns the version of each object in list.
func versions[T listwatch.Object](list *listwatch.List[T]) map[listwatch.Key]string {
	versions := map[listwatch.Key]string{}
	for _, obj := range list.Items {
		versions[listwatch.KeyOf(obj)] = obj.GetResourceVersion()
	}
	return versions
}
