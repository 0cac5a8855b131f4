package native

import (
	"context"
	"os"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"glasswatch/sharedinformer"
	"glasswatch/tests/tutorials/play"
)

// StopChannels does what its namesake does with contexts.
func StopChannels(p *play.Play) {
	refused := func(what string, call func(ctx context.Context)) {
		defer func() { p.Print("%s  %s: %v", p.Time(), what, recover()) }()
		call(nil)
	}
	refused("Run of a nil context", func(ctx context.Context) {
		_ = sharedinformer.New(p.ConfigMaps(), sharedinformer.Options[*corev1.ConfigMap]{}).Run(ctx)
	})
	informer := sharedinformer.New(p.ConfigMaps(), sharedinformer.Options[*corev1.ConfigMap]{})
	ctx, cancel := context.WithCancel(p.Context())
	signals := make(chan os.Signal, 1) // signal.Notify fills it
	p.Go(func(context.Context) {
		signal := <-signals
		p.Print("%s  %v: cancel the context", p.Time(), signal)
		cancel()
	})
	p.Go(func(context.Context) {
		play.Check(informer.Run(ctx))
		p.Print("%s  Run has ended", p.Time())
	})
	p.Pass(time.Hour)
	signals <- syscall.SIGTERM
	p.Pass(0)
}
