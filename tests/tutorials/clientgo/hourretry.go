package clientgo

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"glasswatch/tests/tutorials/play"
)

// HourRetry watches the same hour with a RetryWatcher, and natively with a resume.Stream. Both watch again after the newest version that
// came, at most once a second: nothing is lost or repeated, until the server has forgotten. Then both end, and the program must list.
//
// Often said: "start a RetryWatcher at version 1". That is too old on any cluster that has run for ten minutes: start at that of a list.
func HourRetry(p *play.Play) {
	hour := p.Hour()
	client := hour.Client().CoreV1().ConfigMaps("default")
	list := play.Must(client.List(p.Context(), metav1.ListOptions{}))
	for i := range list.Items {
		hour.Saw("listed", &list.Items[i])
	}
	lw := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
		return client.Watch(ctx, opts)
	}}
	p.Go(func(ctx context.Context) {
		w := play.Must(watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, lw))
		defer w.Stop()
		for event := range w.ResultChan() {
			obj, ok := event.Object.(*corev1.ConfigMap)
			if !ok {
				hour.Ended(apierrors.ReasonForError(apierrors.FromObject(event.Object)))
				return
			}
			hour.Saw(string(event.Type), obj)
		}
	})
	hour.Play()
}
