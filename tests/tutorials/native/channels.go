package native

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/tests/tutorials/play"
)

// Channels does what its namesake does with streams.
func Channels(p *play.Play) {
	p.Server().Put("a", "1")
	run := func(reason string, opts metav1.ListOptions, end func(s listwatch.Stream[*corev1.ConfigMap], cancel func())) {
		ctx, cancel := context.WithCancel(p.Context())
		defer cancel()
		stream := play.Must(p.ConfigMaps().Watch(ctx, opts))
		defer stream.Close()
		play.Must(stream.Next()) // the object that is there
		began := time.Now()
		p.Go(func(context.Context) { end(stream, cancel) })
		_, err := stream.Next()
		p.Print("%-24s closed after %s, %v", reason, play.Roughly(time.Since(began)), err)
	}
	type stream = listwatch.Stream[*corev1.ConfigMap]
	faults, none := p.Server().Faults(), func(stream, func()) {}
	run("Close", metav1.ListOptions{}, func(s stream, _ func()) { _ = s.Close() })
	run("the context ends", metav1.ListOptions{}, func(_ stream, cancel func()) { cancel() })
	run("the connection breaks", metav1.ListOptions{}, func(stream, func()) { faults.BreakWatches() })
	run("the server's choice", metav1.ListOptions{}, none)
	run("TimeoutSeconds 600", metav1.ListOptions{TimeoutSeconds: new(int64(600))}, none)
	run("TimeoutSeconds 7200", metav1.ListOptions{TimeoutSeconds: new(int64(7200))}, none)
	run("the server forgot", metav1.ListOptions{}, func(stream, func()) { faults.ExpireWatches() })
}
