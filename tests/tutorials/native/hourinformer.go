package native

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	"glasswatch/tests/tutorials/play"
)

// HourInformer does what its namesake does with a sharedinformer.Informer.
func HourInformer(p *play.Play) {
	hour := p.Hour()
	client := play.Must(listwatch.NewForConfig[*corev1.ConfigMap](hour.Config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		listwatch.Options{Namespace: "default"}))
	informer := sharedinformer.New(client, sharedinformer.Options[*corev1.ConfigMap]{})
	handler := sharedinformer.HandlerFuncs[*corev1.ConfigMap]{
		AddFunc:    func(obj *corev1.ConfigMap, _ bool) { hour.Saw("add", obj) },
		UpdateFunc: func(_, obj *corev1.ConfigMap) { hour.Saw("update", obj) },
		DeleteFunc: func(d sharedinformer.Deletion[*corev1.ConfigMap]) { hour.Saw("deleted", d.Obj) },
	}
	play.Must(informer.AddHandler(handler, sharedinformer.HandlerOptions{}))
	p.Go(func(ctx context.Context) { play.Check(informer.Run(ctx)) })
	hour.Play()
}
