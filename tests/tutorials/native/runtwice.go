package native

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"glasswatch/sharedinformer"
	"glasswatch/tests/tutorials/play"
)

// RunTwice does what its namesake does with an Informer.
func RunTwice(p *play.Play) {
	informer := sharedinformer.New(p.ConfigMaps(), sharedinformer.Options[*corev1.ConfigMap]{})
	run := func(what string) (stop func()) {
		return p.Go(func(ctx context.Context) {
			err := informer.Run(ctx)
			p.Print("%s  %s has ended: %v", p.Time(), what, err)
		})
	}
	stop := run("the first Run")
	p.Pass(time.Minute)
	run("the second Run, beside the first,")
	p.Pass(time.Minute)
	stop()
	run("the third Run, after the first,")
	p.Pass(time.Minute)
	_, err := informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.ConfigMap]{}, sharedinformer.HandlerOptions{})
	p.Print("%s  another handler is refused: %t, stopped: %t", p.Time(), err != nil, informer.Stopped())
}
