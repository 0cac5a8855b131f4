package reflector

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// checkConsistency compares a streaming list with a list at exactly its version. It returns an ErrInconsistent that
// names a difference; nil if there is none, or if the server would not give that list.
func (r *Reflector[T]) checkConsistency(ctx context.Context, streamed *listwatch.List[T]) error {
	version := streamed.ResourceVersion
	opts := metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	list, err := listwatch.ListAll(ctx, r.lw, opts, defaultPageSize)
	if err != nil {
		return nil
	}
	got, want := versions(streamed), versions(list)
	for key, version := range want {
		switch has, ok := got[key]; {
		case !ok && key != listwatch.Key{}:
			return fmt.Errorf("%w: it lacks %q", ErrInconsistent, key)
		case has != version && has != "" && version != "":
			return fmt.Errorf("%w: it has %q at %s instead of %s", ErrInconsistent, key, has, version)
		}
	}
	if _, nameless := want[listwatch.Key{}]; nameless {
		return nil // an item that does not tell its name may be any of those that seem to be missing
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			return fmt.Errorf("%w: it has %q, which is not there", ErrInconsistent, key)
		}
	}
	return nil
}

// versions returns the version of each object in list, "" for those that could not be read.
func versions[T listwatch.Object](list *listwatch.List[T]) map[listwatch.Key]string {
	versions := map[listwatch.Key]string{}
	for _, bad := range list.Bad {
		versions[bad.Key] = ""
	}
	for _, obj := range list.Items {
		versions[listwatch.KeyOf(obj)] = obj.GetResourceVersion()
	}
	return versions
}
