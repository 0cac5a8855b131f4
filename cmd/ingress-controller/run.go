package main

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/controller/ingress"
	"glasswatch/internal/lens/look"
)

func runOnCluster(ctx context.Context, o *options) error {
	cfg, source, err := o.cluster.Config()
	if err != nil {
		return err
	}
	if err := introduce(ctx, cfg, source); err != nil {
		return err
	}
	return runController(ctx, cfg, o)
}

// runController serves metrics and health and reconciles until ctx ends, or the lease is lost.
func runController(ctx context.Context, cfg *rest.Config, o *options) error {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = 50, 100
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	opts := ingress.Options{
		Config: o.config, Namespace: o.namespace, Workers: o.workers, Resync: o.resync,
		Registerer: registry, Observe: logEvents(ctx),
	}
	var e *election // nil: no other replica
	if o.election.enabled {
		var err error
		if e, err = newElection(cfg, o); err != nil {
			return err
		}
		registry.MustRegister(leadership.leader, leadership.slowpath)
		opts.MayWrite = e.won
	}
	hub := o.lens.observe(ctx, cfg, &opts) // after the election has made its clients: Leases are not looked at
	c, err := ingress.New(cfg, opts)
	if err != nil {
		return err
	}
	lens, err := o.lens.handler(hub, c)
	if err != nil {
		return err
	}
	serving, stopServing := context.WithCancel(ctx)
	defer stopServing()
	metrics, err := serve(serving, "metrics", o.metricsAddr, metricsHandler(registry))
	if err != nil {
		return err
	}
	health, err := serve(serving, "health", o.healthAddr, healthHandler(e.alive, func() error {
		return errors.Join(c.Ready(), e.ready())
	}))
	if err != nil {
		return err
	}
	looking, err := serve(serving, "lens", o.lens.addr, lens)
	if err != nil {
		return err
	}
	err = e.run(ctx, c.Run)
	if errors.Is(err, errLost) {
		return err // at once
	}
	stopServing()
	<-metrics
	<-health
	<-looking
	klog.FromContext(ctx).Info("Stopped")
	return err
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
