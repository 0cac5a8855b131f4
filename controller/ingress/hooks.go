package ingress

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/rest"

	"glasswatch/controller"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// Hooks let another package put something around a Controller: package sharded does. Each of them may be nil.
type Hooks struct {
	// Services and Ingresses make an informer in place of the controller's own. It is their business to run it, and to
	// say in Ready whether it is filled and follows the cluster.
	Services  func(*rest.Config, Source, sharedinformer.Options[*corev1.Service]) (*sharedinformer.Informer[*corev1.Service], error)
	Ingresses func(*rest.Config, Source, sharedinformer.Options[*networkingv1.Ingress]) (*sharedinformer.Informer[*networkingv1.Ingress], error)
	// Reconcile is called for each key in place of the Reconciler.
	Reconcile func(ctx context.Context, key listwatch.Key) (controller.Result, error)
	// Work is called in place of loop, which it has to call, once this process may write.
	Work func(ctx context.Context, loop func(context.Context) error) error
	// Ready is asked beside the controller's own informers.
	Ready func() error
}

// Source is where an informer's objects come from.
type Source struct {
	GVR    schema.GroupVersionResource
	Client listwatch.Options
}

// View is what of the cluster a Reconciler sees, and how it writes.
type View struct {
	Services  Cache[*corev1.Service]
	Ingresses Cache[*networkingv1.Ingress]
	Label     Label // of all Ingresses that it writes
}

// In returns a Reconciler that sees the view. Both have one memory of each Service.
func (r *Reconciler) In(v View) *Reconciler {
	in := *r
	in.services, in.ingresses, in.config.label = v.Services, v.Ingresses, v.Label
	return &in
}

// Client is the one that the reconciler writes Ingresses with.
func (r *Reconciler) Client() networkingv1client.IngressesGetter { return r.client }

// Forget drops what is remembered of the key between two reconciles. Nobody may reconcile it at this time.
func (r *Reconciler) Forget(key listwatch.Key) { r.memories.forget(key) }

// Remembers reports whether something is remembered of the key.
func (r *Reconciler) Remembers(key listwatch.Key) bool {
	r.memories.mu.Lock()
	defer r.memories.mu.Unlock()
	return r.memories.byKey[key] != nil
}

// Reconciler is the one that the Controller's loop calls, unless Hooks has another.
func (c *Controller) Reconciler() *Reconciler { return c.reconciler }

// Loop has the keys that are due.
func (c *Controller) Loop() *controller.Controller[listwatch.Key] { return c.loop }

// Services is the informer of Services.
func (c *Controller) Services() *sharedinformer.Informer[*corev1.Service] { return c.services }

// Ingresses is the informer of Ingresses.
func (c *Controller) Ingresses() *sharedinformer.Informer[*networkingv1.Ingress] { return c.ingresses }
