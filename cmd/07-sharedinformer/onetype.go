package main

import (
	"context"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/cmd/internal/demo"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/factory"
)

func oneType(ctx context.Context, d *demo.Demo) {
	d.Step("A resync for one type only")
	d.Put(ctx, "onetype", "k")
	plain := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "k", Labels: map[string]string{demo.LabelGroup: "onetype"}}}
	demo.Must(d.Client.CoreV1().Secrets(d.Namespace).Create(ctx, plain, metav1.CreateOptions{}))
	f := factory.New(d.Config, factory.Options{Namespace: d.Namespace, DefaultResync: 0, // none but those named
		TweakListOptions: func(opts *metav1.ListOptions) { opts.LabelSelector = "group=onetype" },
		Resync:           map[reflect.Type]time.Duration{reflect.TypeFor[*corev1.ConfigMap](): time.Second}})
	maps, secrets := demo.NewHandler[*corev1.ConfigMap](ctx), demo.NewHandler[*corev1.Secret](ctx)
	demo.Must(demo.Must(factory.InformerFor[*corev1.ConfigMap](f)).AddHandler(maps, sharedinformer.HandlerOptions{}))
	demo.Must(demo.Must(factory.InformerFor[*corev1.Secret](f)).AddHandler(secrets, sharedinformer.HandlerOptions{}))
	d.Go(ctx, func(ctx context.Context) { f.Start(ctx); <-ctx.Done(); f.Shutdown() })
	d.Saw("ConfigMaps: %s; Secrets: %s", maps.Take(1), secrets.Take(1))
	d.Saw("ConfigMaps, each second: %s; Secrets: %d calls", maps.Take(2), secrets.Begun()-1)
	d.Why("a period belongs to a type (and in client-go to WithCustomResyncConfig), a handler may ask for a longer one or none")
}
