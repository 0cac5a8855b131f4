package ingress

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"glasswatch/controller"
	"glasswatch/listwatch"
)

// Cache is what the reconciler reads: the store of an informer.
type Cache[T listwatch.Object] interface {
	GetByKey(key listwatch.Key) (T, bool)
	ResourceVersion() string
}

// Reconciler makes the Ingress of one Service what the Service asks for.
// It reads only its caches and writes only on a difference.
type Reconciler struct {
	config    Config
	services  Cache[*corev1.Service]
	ingresses Cache[*networkingv1.Ingress]
	client    networkingv1client.IngressesGetter
	events    record.EventRecorder
	memories  memories
}

// NewReconciler returns an error if config is not valid.
func NewReconciler(config Config, services Cache[*corev1.Service], ingresses Cache[*networkingv1.Ingress],
	client networkingv1client.IngressesGetter, events record.EventRecorder) (*Reconciler, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Reconciler{
		config: config, services: services, ingresses: ingresses, client: client, events: events,
		memories: memories{byKey: map[listwatch.Key]*memory{}},
	}, nil
}

// Reconcile looks at the Service and the Ingress of this key. The rules stand in doc.go.
func (r *Reconciler) Reconcile(ctx context.Context, key listwatch.Key) (controller.Result, error) {
	svc, found := r.services.GetByKey(key)
	if !found {
		r.memories.forget(key)
		return controller.Result{}, nil // the Ingress goes by its ownerReference
	}
	if svc.DeletionTimestamp != nil {
		return controller.Result{}, nil
	}
	mem := r.memories.of(key, svc.UID)
	if r.cacheIsBehind(mem) {
		// The write's own event comes and asks again; the delay is for the case that it changed nothing.
		return controller.Result{RequeueAfter: staleCacheDelay}, nil
	}
	ing, _ := r.ingresses.GetByKey(key)

	d, wanted, err := r.decide(svc)
	if invalid, ok := errors.AsType[*invalidError](err); ok {
		r.warn(ctx, svc, mem, invalid)
		if wanted {
			return controller.Result{}, nil // keeps its last good Ingress
		}
	}
	if !wanted {
		return r.ensureNone(ctx, svc, ing, mem)
	}
	return r.ensure(ctx, svc, ing, d, mem)
}

// decide gives what the Service asks for. With an *invalidError, wanted says
// whether an Ingress that it already has may stay.
func (r *Reconciler) decide(svc *corev1.Service) (d desired, wanted bool, err error) {
	wanted, err = r.config.wants(svc)
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		if wanted {
			err = &invalidError{ReasonUnsupportedType, "a Service of type ExternalName cannot be the backend of an Ingress"}
		}
		return d, false, err
	}
	if err != nil {
		return d, true, err
	}
	if wanted {
		d, err = r.config.desire(svc)
	}
	return d, wanted, err
}

// staleCacheDelay bounds how long a key rests when the cache lags behind the controller's own write.
const staleCacheDelay = 5 * time.Second

// cacheIsBehind keeps the reconciler from answering its own write: as long as the
// cache has not reached it, what the cache shows is known to be old.
func (r *Reconciler) cacheIsBehind(mem *memory) bool {
	if mem.written == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(r.ingresses.ResourceVersion(), mem.written)
	if err == nil && order < 0 {
		return true
	}
	mem.written = ""
	return false
}

func (r *Reconciler) ensureNone(ctx context.Context, svc *corev1.Service, ing *networkingv1.Ingress, mem *memory) (controller.Result, error) {
	mem.contest = contest{}
	if ing == nil || ing.DeletionTimestamp != nil || relate(svc, ing) != ours {
		return controller.Result{}, nil
	}
	err := r.remove(ctx, ing)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err == nil {
		klog.FromContext(ctx).Info("Deleted Ingress", "ingress", klog.KObj(ing), "resourceVersion", ing.ResourceVersion)
	}
	return controller.Result{}, err
}

func (r *Reconciler) ensure(ctx context.Context, svc *corev1.Service, ing *networkingv1.Ingress, d desired, mem *memory) (controller.Result, error) {
	if ing != nil {
		if ing.DeletionTimestamp != nil {
			return controller.Result{}, nil // its deletion enqueues the key
		}
		switch relate(svc, ing) {
		case predecessor:
			return controller.Result{}, nil // likewise
		case stranger:
			r.warn(ctx, svc, mem, &invalidError{ReasonNameConflict,
				fmt.Sprintf("Ingress %s exists and %s; it is left alone", klog.KObj(ing), describeController(ing))})
			return controller.Result{}, nil
		case ours:
			if !d.differs(ing) {
				return controller.Result{}, nil
			}
		}
	}
	if mem.rejected == versionsOf(svc, ing) {
		return controller.Result{}, nil
	}
	if wait := mem.contest.wait(d, time.Now()); wait > 0 {
		r.reportContest(svc, mem, ing == nil)
		return controller.Result{RequeueAfter: wait}, nil
	}
	return r.write(ctx, svc, ing, d, mem)
}

func (r *Reconciler) write(ctx context.Context, svc *corev1.Service, ing *networkingv1.Ingress, d desired, mem *memory) (controller.Result, error) {
	logger := klog.FromContext(ctx)
	var result *networkingv1.Ingress
	var err error
	if ing == nil {
		result, err = r.create(ctx, listwatch.KeyOf(svc), d)
	} else {
		result, err = r.correct(ctx, ing, d)
	}
	switch {
	case err == nil:
	case ing == nil && endsQuietly(err):
		logger.V(2).Info("No Ingress in a namespace that is going away", "service", klog.KObj(svc), "err", err)
		return controller.Result{}, nil
	case apierrors.IsBadRequest(err) || apierrors.IsInvalid(err):
		mem.rejected = versionsOf(svc, ing)
		r.warn(ctx, svc, mem, &invalidError{ReasonRejected, err.Error()})
		return controller.Result{}, controller.Terminal(err)
	default:
		return controller.Result{}, err
	}
	mem.contest.wrote(time.Now())
	mem.written = result.ResourceVersion
	verb := "Corrected Ingress"
	if ing == nil {
		verb = "Created Ingress"
	}
	logger.Info(verb, "ingress", klog.KObj(result), "resourceVersion", result.ResourceVersion,
		"host", d.host, "port", d.port, "class", d.class)
	if d.differs(result) {
		// Undone before it was even stored, by admission: no event will come of it.
		return controller.Result{RequeueAfter: max(contestBase, mem.contest.delay())}, nil
	}
	return controller.Result{}, nil
}

// endsQuietly: a create into a namespace that is terminating, or gone already.
// The Service goes with it, and that is the end of the matter.
func endsQuietly(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// warn emits one Warning Event for as long as reason and message stay the same.
func (r *Reconciler) warn(ctx context.Context, svc *corev1.Service, mem *memory, problem *invalidError) {
	if mem.warned == *problem {
		return
	}
	mem.warned = *problem
	klog.FromContext(ctx).Info("Service asks for an Ingress that it cannot get",
		"service", klog.KObj(svc), "reason", problem.reason, "message", problem.message)
	r.events.Event(svc, corev1.EventTypeWarning, problem.reason, problem.message)
}

func (r *Reconciler) reportContest(svc *corev1.Service, mem *memory, deleted bool) {
	if mem.contested {
		return
	}
	mem.contested = true
	what := "changing"
	if deleted {
		what = "deleting"
	}
	r.events.Eventf(svc, corev1.EventTypeWarning, ReasonContested,
		"somebody keeps %s Ingress %s; it is put right ever more slowly, at last every %s", what, klog.KObj(svc), contestCap)
}
