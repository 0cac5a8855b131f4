package native

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
	"glasswatch/tests/tutorials/play"
)

// Rungs does what its namesake does with a Reflector on a queue, and with an Informer.
func Rungs(p *play.Play) {
	changes := func() {
		p.Pass(0)
		p.Server().Put("a", "2")
		p.Pass(0)
		p.Server().Delete("a")
		p.Pass(0)
	}
	p.Server().Put("a", "1")
	queue := deltafifo.NewDeltaFIFO(deltafifo.Options[listwatch.Key, *corev1.ConfigMap]{
		KeyFunc: func(obj *corev1.ConfigMap) (listwatch.Key, error) { return listwatch.KeyOf(obj), nil }})
	filler := reflector.New(p.ConfigMaps(), reflector.Sink[*corev1.ConfigMap](queue), reflector.Options{})
	process := func(deltas []deltafifo.Delta[listwatch.Key, *corev1.ConfigMap], isInInitialList bool) error {
		for _, delta := range deltas {
			p.Print("the low rung:  %-8s %s=%s, initial %t", delta.Type, delta.Obj.Name, delta.Obj.Data["value"], isInInitialList)
		}
		return nil
	}
	stop := p.Go(func(ctx context.Context) {
		var wg sync.WaitGroup
		wg.Go(func() {
			filler.Run(ctx)
			queue.Close()
		})
		for queue.PopBatch(process) == nil {
		}
		wg.Wait()
	})
	changes()
	p.Print("the low rung:  has synced %t", queue.HasSynced())
	stop()

	p.Server().Put("a", "1")
	informer := sharedinformer.New(p.ConfigMaps(), sharedinformer.Options[*corev1.ConfigMap]{})
	play.Must(informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.ConfigMap]{
		AddFunc:    func(obj *corev1.ConfigMap, _ bool) { p.Print("one handler:   add    %s", obj.Name) },
		UpdateFunc: func(_, obj *corev1.ConfigMap) { p.Print("one handler:   update %s", obj.Name) },
		DeleteFunc: func(d sharedinformer.Deletion[*corev1.ConfigMap]) { p.Print("one handler:   delete %s", d.Key.Name) },
	}, sharedinformer.HandlerOptions{}))
	p.Go(func(ctx context.Context) { play.Check(informer.Run(ctx)) })
	changes()
	p.Server().Put("b", "1")
	p.Pass(0)
	p.Print("one handler:   the store has %v", informer.Store().ListKeys())
}
