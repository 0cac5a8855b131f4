package follow

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// line is a ListerWatcher whose watch brings these versions, and does not end with its context.
type line struct {
	listwatch.ListerWatcher[*corev1.ConfigMap]
	versions chan string
}

func (l line) Watch(context.Context, metav1.ListOptions) (listwatch.Stream[*corev1.ConfigMap], error) {
	return l, nil
}

func (l line) Close() error { return nil }

func (l line) Next() (listwatch.Event[*corev1.ConfigMap], error) {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: <-l.versions}}
	return listwatch.Event[*corev1.ConfigMap]{Type: listwatch.Modified, Object: obj, ResourceVersion: obj.ResourceVersion}, nil
}

// freeze returns when what was read has been passed on: when the reflector asks for more. It gets no more, whether it
// asks before or after.
func TestFeed_FreezeWaitsForWhatWasReadAndLetsNoMoreThrough(t *testing.T) {
	for _, asks := range []string{"before", "after"} {
		t.Run(asks, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				l := line{versions: make(chan string, 1)}
				f := &feed[*corev1.ConfigMap]{lw: l}
				stream, err := f.Watch(ctx, metav1.ListOptions{})
				require.NoError(t, err)
				l.versions <- "10"
				_, err = stream.Next()
				require.NoError(t, err)
				last, next := make(chan string, 1), make(chan error, 1)
				freeze := func() {
					version, _ := f.freeze(ctx)
					last <- version
				}
				ask := func() {
					_, err := stream.Next()
					next <- err
				}
				first, second := freeze, ask
				if asks == "before" {
					first, second = ask, freeze
				}
				go first()
				synctest.Wait()
				require.Empty(t, last)
				go second()
				synctest.Wait()
				require.Equal(t, "10", <-last)
				l.versions <- "11"
				synctest.Wait()
				require.Empty(t, next, "it gets nothing, and does not end before its context")
				cancel()
				require.ErrorIs(t, <-next, context.Canceled)
				require.Equal(t, "10", f.read())
			})
		})
	}
}
