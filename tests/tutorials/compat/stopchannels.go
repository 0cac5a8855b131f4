package compat

import (
	"context"
	"os"
	"runtime"
	"syscall"
	"time"

	"glasswatch/compat/cache"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"

	"glasswatch/tests/tutorials/play"
)

// StopChannels passes a nil channel where a stop channel belongs, as a tutorial's main does with a variable that it never makes. Receiving
// from nil blocks for ever, so nothing ever stops. No error says so: the program runs, and on SIGTERM it is killed in the middle.
//
// In a main of your own, write ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM). A second signal
// should end the program at once: call stop after the first.
//
// Differs: natively there are contexts only. A nil context is refused at once, by a panic.
func StopChannels(p *play.Play) {
	listWatch := cache.NewListWatchFromClient(p.Client().CoreV1().RESTClient(), "configmaps", "default", fields.Everything())
	informer := cache.NewSharedIndexInformer(listWatch, &corev1.ConfigMap{}, 0, cache.Indexers{})

	var never chan struct{} // nil: the mistake
	go func() {
		cache.WaitForCacheSync(never, func() bool {
			if p.Time() >= "01:00:00" {
				p.Print("%s  WaitForCacheSync of an informer that does not run still waits", p.Time())
				runtime.Goexit() // its stop channel cannot end it
			}
			return informer.HasSynced()
		})
	}()
	go func() {
		wait.Until(func() {
			if p.Time() >= "02:00:00" {
				p.Print("%s  wait.Until, with which workers are started, goes on", p.Time())
				runtime.Goexit()
			}
		}, time.Minute, never)
	}()
	p.Pass(3 * time.Hour)

	stopCh := make(chan struct{})
	signals := make(chan os.Signal, 1) // signal.Notify fills it
	p.Go(func(context.Context) {
		signal := <-signals
		p.Print("%s  %v: close the channel", p.Time(), signal)
		close(stopCh)
	})
	p.Go(func(context.Context) {
		informer.Run(stopCh)
		p.Print("%s  Run has ended", p.Time())
	})
	p.Pass(time.Hour)
	signals <- syscall.SIGTERM
	p.Pass(0)
}
