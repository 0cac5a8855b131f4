package main

import (
	"context"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/12-shards/audit"
	"glasswatch/cmd/internal/demo"
	"glasswatch/controller/ingress"
	"glasswatch/controller/ingress/sharded"
	"glasswatch/controller/shards"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

const (
	shardCount    = 256
	leaseDuration = 2 * time.Second // short, for a demo; 15 s is the default
	group         = "demo"
)

// replica is one process, as far as several fit into one: its clients, caches, queue and workers are its own.
type replica struct {
	*sharded.Controller
	wire  *audit.Wire
	gone  bool // killed, or asked to leave; used by the story's goroutine only
	stop  context.CancelFunc
	ended chan error
}

// start adds a replica.
func (w *world) start(ctx context.Context, name string) {
	r := &replica{wire: w.Wire(name), ended: make(chan error, 1)}
	cfg := rest.CopyConfig(w.d.Config)
	cfg.Wrap(r.wire.Wrap)
	leases := rest.CopyConfig(cfg)
	leases.QPS = -1 // a renewal waits for no other request
	member := shards.Options{
		Namespace: w.d.Namespace, Name: group, Identity: name, Shards: shardCount, LeaseDuration: leaseDuration,
	}
	r.Controller = demo.Must(sharded.New(cfg, ingress.Options{
		Config:    ingress.Config{AnnotationPrefix: "ingress", Host: "example.com"},
		Namespace: w.watched, Workers: 4, Observe: w.Observe(name),
	}, sharded.Sharding{
		Leases: demo.Must(coordinationv1client.NewForConfig(leases)), By: w.by, Member: member,
	}))
	ctx, r.stop = context.WithCancel(ctx)
	go func() { r.ended <- r.Run(ctx) }()
	w.replicas[name] = r
}

// leave is what SIGTERM does.
func (r *replica) leave() {
	r.gone = true
	r.stop()
}

// kill is kill -9: what its goroutines do until they have ended does not reach the server.
func (r *replica) kill() {
	r.wire.Cut()
	r.leave()
}

// end stops everything, and returns when it has stopped.
func (w *world) end(cancel func()) {
	cancel()
	for _, r := range w.replicas {
		<-r.ended
		r.wire.Cut()
	}
}

// watch looks at Ingresses and Leases, with informers of the demo's own.
func (w *world) watch(ctx context.Context) {
	ingresses := networkingv1.SchemeGroupVersion.WithResource("ingresses")
	look(ctx, w, ingresses, w.watched, func(ing *networkingv1.Ingress) {
		w.SawIngress(ing)
		w.endWait(ing)
	})
	leases := coordinationv1.SchemeGroupVersion.WithResource("leases")
	look(ctx, w, leases, w.d.Namespace, w.SawLease)
}

func look[T listwatch.Object](
	ctx context.Context, w *world, gvr schema.GroupVersionResource, namespace string, saw func(T),
) {
	lw := demo.Must(listwatch.NewForConfig[T](w.d.Config, gvr, listwatch.Options{Namespace: namespace}))
	informer := sharedinformer.New(listwatch.ListerWatcher[T](lw), sharedinformer.Options[T]{})
	demo.Must(informer.AddHandler(sharedinformer.HandlerFuncs[T]{
		AddFunc:    func(obj T, _ bool) { saw(obj) },
		UpdateFunc: func(_, obj T) { saw(obj) },
	}, sharedinformer.HandlerOptions{}))
	w.d.Go(ctx, func(ctx context.Context) { _ = informer.Run(ctx) }) // the error is that of ctx
	demo.Check(informer.WaitForSync(ctx))
}

// living are the replicas that run and have a network.
func (w *world) living() (names []string) {
	for name, r := range w.replicas {
		if !r.gone && r.wire.IsUp() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// settle waits until the fences say what rendezvous hashing says, and all have listed what they hold.
func (w *world) settle(ctx context.Context) {
	living := w.living()
	expected := shards.Assign(shardCount, living)
	demo.Until(ctx, "each shard is with whom it is assigned to", func() bool {
		return slices.Equal(w.Owners(), expected) &&
			!slices.ContainsFunc(living, func(name string) bool { return w.replicas[name].Ready() != nil })
	})
}

// caughtUp waits until the server shows what the last change of each Service asks for.
func (w *world) caughtUp(ctx context.Context) {
	demo.Until(ctx, "each Service has its Ingress", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.pending == 0
	})
}

// endWait ends the wait of a Service whose Ingress is as the last change asks.
func (w *world) endWait(ing *networkingv1.Ingress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.byKey[ing.Namespace+"/"+ing.Name]
	if s != nil && s.waited < 0 && len(ing.Spec.Rules) == 1 && ing.Spec.Rules[0].Host == s.host {
		s.waited = time.Since(s.changed)
		w.pending--
	}
}

func (w *world) shardOf(key string) int { return w.byKey[key].shard }
