package main

import (
	"context"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/operator"
	"glasswatch/controller/ingress"
	"glasswatch/controller/ingress/sharded"
	"glasswatch/internal/lens/look"
)

// runController reconciles on a cluster until ctx ends, or the lease is lost. See operator.Run for a nil cfg.
func runController(ctx context.Context, cfg *rest.Config, o *options) error {
	return operator.Run(ctx, cfg, &o.Flags, operator.Program{
		Name: "ingress-controller", Version: version,
		New: func(cfg *rest.Config, p operator.Parts) (operator.Controller, error) {
			return newController(ctx, cfg, o, p)
		},
	})
}

func newController(ctx context.Context, cfg *rest.Config, o *options, p operator.Parts) (operator.Controller, error) {
	opts := ingress.Options{
		Config: o.config, Namespace: p.Namespace, Workers: p.Workers, Resync: o.resync,
		Registerer: p.Registerer, MayWrite: p.MayWrite, Observe: logEvents(ctx),
	}
	if o.shards.Count > 0 {
		s, err := o.shards.New(cfg, &o.Flags)
		if err != nil {
			return nil, err
		}
		return sharded.New(cfg, opts, s)
	}
	hub := o.lens.observe(ctx, cfg, &opts)
	c, err := ingress.New(cfg, opts)
	if err != nil {
		return nil, err
	}
	lens, err := o.lens.handler(hub, c)
	if err != nil {
		return nil, err
	}
	return c, p.Serve("lens", o.lens.addr, lens)
}

// logEvents logs what passes each layer at verbosity 4, and costs nothing below.
func logEvents(ctx context.Context) func(...look.Event) {
	logger := klog.FromContext(ctx).V(4)
	if !logger.Enabled() {
		return nil
	}
	return func(events ...look.Event) {
		for _, e := range events {
			logger.Info("Layer", "layer", e.At.Layer(), "at", e.At, "kind", e.Kind, "action", e.Action, "key", e.Key,
				"resourceVersion", e.RV, "err", e.Error)
		}
	}
}
