package native

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
	"glasswatch/tests/tutorials/play"
)

// HourRetry does what its namesake does with a resume.Stream.
func HourRetry(p *play.Play) {
	hour := p.Hour()
	client := play.Must(listwatch.NewForConfig[*corev1.ConfigMap](hour.Config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		listwatch.Options{Namespace: "default"}))
	list := play.Must(client.List(p.Context(), metav1.ListOptions{}))
	for _, obj := range list.Items {
		hour.Saw("listed", obj)
	}
	p.Go(func(ctx context.Context) {
		stream := play.Must(resume.NewStream(ctx, client, metav1.ListOptions{ResourceVersion: list.ResourceVersion}, nil))
		defer stream.Close()
		for {
			event, err := stream.Next()
			if err != nil {
				hour.Ended(apierrors.ReasonForError(err))
				return
			}
			hour.Saw(event.Type.String(), event.Object)
		}
	})
	hour.Play()
}
