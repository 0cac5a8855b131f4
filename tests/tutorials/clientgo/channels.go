package clientgo

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/tests/tutorials/play"
)

// Channels shows every reason for which the channel of a watch closes. Each watch has one object to begin with, and then waits.
// Closed channels look alike: a program that wants to go on must treat each as "ask again".
//
// Often said: "TimeoutSeconds is 0 by default, so a watch never ends". The server then chooses: between 30 and 60 minutes.
//
// Differs: a channel only closes, while Next of a native stream returns an error that says why. A clean end by the server is EOF.
//
// Ways: a watch has nothing of cache or workqueue to swap.
func Channels(p *play.Play) {
	p.Server().Put("a", "1")
	stopped := play.Must(p.Client().CoreV1().ConfigMaps("default").Watch(p.Context(), metav1.ListOptions{}))
	stopped.Stop()
	for range stopped.ResultChan() {
	}
	p.Print("%-24s closed at once; an event may still come before", "Stop")

	run := func(reason string, opts metav1.ListOptions, end func(cancel func())) {
		ctx, cancel := context.WithCancel(p.Context())
		defer cancel()
		w := play.Must(p.Client().CoreV1().ConfigMaps("default").Watch(ctx, opts))
		defer w.Stop()
		<-w.ResultChan() // the object that is there
		began, last := time.Now(), "no event before"
		p.Go(func(context.Context) { end(cancel) })
		for event := range w.ResultChan() {
			last = string(event.Type)
			if event.Type == watch.Error {
				last += " " + string(apierrors.ReasonForError(apierrors.FromObject(event.Object)))
			}
		}
		p.Print("%-24s closed after %s, %s", reason, play.Roughly(time.Since(began)), last)
	}
	faults, none := p.Server().Faults(), func(func()) {}
	run("the context ends", metav1.ListOptions{}, func(cancel func()) { cancel() })
	run("the connection breaks", metav1.ListOptions{}, func(func()) { faults.BreakWatches() })
	run("the server's choice", metav1.ListOptions{}, none)
	run("TimeoutSeconds 600", metav1.ListOptions{TimeoutSeconds: new(int64(600))}, none)
	run("TimeoutSeconds 7200", metav1.ListOptions{TimeoutSeconds: new(int64(7200))}, none)
	run("the server forgot", metav1.ListOptions{}, func(func()) { faults.ExpireWatches() })
}
