package ingress

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/tools/record"

	"glasswatch/controller"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
)

// Cache is what the reconciler reads: the store of an informer.
type Cache[T listwatch.Object] interface {
	GetByKey(key listwatch.Key) (T, bool)
	ResourceVersion() string
}

// Reconciler brings a Service's Ingress to the desired state. It reads only its caches and writes only on a difference.
type Reconciler struct {
	config    Config
	services  Cache[*corev1.Service]
	ingresses Cache[*networkingv1.Ingress]
	client    networkingv1client.IngressesGetter
	events    record.EventRecorder
	observe   func(...look.Event) // may be nil
	memories  *memories           // shared by what In returns
}

// NewReconciler returns an error if config is not valid.
func NewReconciler(config Config, services Cache[*corev1.Service], ingresses Cache[*networkingv1.Ingress],
	client networkingv1client.IngressesGetter, events record.EventRecorder) (*Reconciler, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Reconciler{
		config: config, services: services, ingresses: ingresses, client: client, events: events,
		memories: &memories{byKey: map[listwatch.Key]*memory{}},
	}, nil
}

// Observe makes the Reconciler report what each Reconcile decided, as look.Decided. It is to be called before the first
// Reconcile. observe is called by the goroutine that reconciles; nil is nobody.
func (r *Reconciler) Observe(observe func(...look.Event)) { r.observe = observe }

// writeTimeout bounds a write, for an API server that never answers would block a worker for ever.
const writeTimeout = 30 * time.Second

// Reconcile compares the Service and the Ingress of this key. The rules stand in doc.go.
func (r *Reconciler) Reconcile(ctx context.Context, key listwatch.Key) (controller.Result, error) {
	ctx, cancel := context.WithTimeout(look.WithKey(ctx, key), writeTimeout)
	defer cancel()
	l := attempt{Reconciler: r, key: key, outcome: "nothing to write"}
	result, err := l.reconcile(ctx)
	if r.observe != nil {
		e := look.Event{At: look.Decided, Action: l.outcome, Key: look.NameOf(key), RV: l.resourceVersion}
		if err != nil {
			e.Action, e.Error = "failed", err.Error()
		}
		r.observe(e)
	}
	return result, err
}
