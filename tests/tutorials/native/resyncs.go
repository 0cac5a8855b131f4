package native

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	"glasswatch/tests/tutorials/play"
)

// Resyncs does what its namesake does with an Informer.
func Resyncs(p *play.Play) {
	hour := p.Hour()
	client := play.Must(listwatch.NewForConfig[*corev1.ConfigMap](hour.Config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		listwatch.Options{Namespace: "default"}))
	informer := sharedinformer.New(client, sharedinformer.Options[*corev1.ConfigMap]{ResyncPeriod: time.Minute})
	play.Must(informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.ConfigMap]{
		AddFunc: func(obj *corev1.ConfigMap, _ bool) { p.Print("%s  add %s", p.Time(), obj.Name) },
		UpdateFunc: func(was, is *corev1.ConfigMap) {
			p.Print("%s  update %s, the same version: %t", p.Time(), is.Name, was.ResourceVersion == is.ResourceVersion)
		},
	}, sharedinformer.HandlerOptions{}))
	p.Go(func(ctx context.Context) { play.Check(informer.Run(ctx)) })
	p.Pass(5*time.Minute + time.Second)
	p.Print("lists: %d", hour.Lists())
}
