package ingress

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"glasswatch/controller"
	"glasswatch/internal/rv"
	"glasswatch/listwatch"
)

// attempt is one reconcile of one key: the objects in the caches, and the result.
type attempt struct {
	*Reconciler
	key listwatch.Key
	svc *corev1.Service
	ing *networkingv1.Ingress // nil for none
	mem *memory

	outcome         string
	warned          bool
	resourceVersion string // of what was written
}

var none controller.Result

func (l *attempt) reconcile(ctx context.Context) (controller.Result, error) {
	svc, found := l.services.GetByKey(l.key)
	if !found {
		l.memories.forget(l.key)
		return none, nil // the Ingress goes by its ownerReference
	}
	if svc.DeletionTimestamp != nil {
		return none, nil
	}
	l.svc, l.mem = svc, l.memories.of(l.key, svc.UID)
	if l.cacheIsBehind() {
		l.outcome = "waits for the cache to catch up with its own write"
		return controller.Result{RequeueAfter: lookAgainDelay}, nil
	}
	l.ing, _ = l.ingresses.GetByKey(l.key)

	d, wanted, err := l.decide()
	if invalid, ok := errors.AsType[*invalidError](err); ok {
		l.warn(ctx, &l.mem.asked, invalid)
		if wanted {
			return none, nil // keeps its last good Ingress
		}
	}
	if !wanted {
		return l.ensureNone(ctx)
	}
	return l.ensure(ctx, d)
}

// decide returns the Ingress that the Service asks for. With an *invalidError, wanted tells whether an existing Ingress
// may stay.
func (l *attempt) decide() (d desired, wanted bool, err error) {
	wanted, err = l.config.wants(l.svc)
	if l.svc.Spec.Type == corev1.ServiceTypeExternalName {
		if wanted {
			err = &invalidError{ReasonUnsupportedType, "a Service of type ExternalName cannot be the backend of an Ingress"}
		}
		return d, false, err
	}
	if err != nil {
		return d, true, err
	}
	if wanted {
		d, err = l.config.desire(l.svc)
	}
	return d, wanted, err
}

const (
	// lookAgainDelay is the time from a write to the next reconcile of the key. Mostly the write's own event comes long
	// before. But no event comes if a write is undone between two watches.
	lookAgainDelay = 5 * time.Second
	// staleCacheLimit ends the wait if the server's versions went back, as after a restored backup.
	staleCacheLimit = time.Minute
)

// cacheIsBehind keeps the controller from correcting its own write: until the cache has that write, it is outdated.
func (l *attempt) cacheIsBehind() bool {
	if l.mem.written == "" {
		return false
	}
	version := l.ingresses.ResourceVersion() // a per-key queue's store has none: nothing is known
	if rv.IsOlder(version, l.mem.written) && time.Since(l.mem.writtenAt) < staleCacheLimit {
		return true
	}
	l.mem.written = ""
	return false
}

func (l *attempt) ensureNone(ctx context.Context) (controller.Result, error) {
	l.mem.contest = contest{}
	if l.ing == nil || l.ing.DeletionTimestamp != nil || l.config.relate(l.svc, l.ing) != ours {
		l.isWell()
		return none, nil
	}
	if wait := l.mem.rest(versionsOf(l.svc, l.ing), time.Now()); wait > 0 {
		return controller.Result{RequeueAfter: wait}, nil
	}
	switch err := l.remove(ctx, l.ing); {
	case err == nil:
		l.isWell()
		l.outcome = "deleted the Ingress"
		klog.FromContext(ctx).Info("Deleted Ingress", "ingress", klog.KObj(l.ing), "resourceVersion", l.ing.ResourceVersion)
		return none, nil
	case apierrors.IsNotFound(err):
		return none, nil
	default:
		return l.refused(ctx, err)
	}
}

func (l *attempt) ensure(ctx context.Context, d desired) (controller.Result, error) {
	if l.ing != nil {
		if l.ing.DeletionTimestamp != nil {
			return none, nil // its deletion enqueues the key
		}
		switch l.config.relate(l.svc, l.ing) {
		case predecessor:
			return none, nil // likewise
		case stranger:
			l.warn(ctx, &l.mem.asked, &invalidError{ReasonNameConflict,
				fmt.Sprintf("Ingress %s exists and %s; it is left alone", klog.KObj(l.ing), describeStranger(l.svc, l.ing))})
			return none, nil
		case ours:
			if !d.differs(l.ing) {
				l.isWell()
				return none, nil
			}
		}
	}
	if wait := l.mem.rest(versionsOf(l.svc, l.ing), time.Now()); wait > 0 {
		return controller.Result{RequeueAfter: wait}, nil
	}
	if wait := l.mem.contest.wait(d, time.Now()); wait > 0 {
		l.outcome = "contested: waits " + wait.Round(time.Millisecond).String()
		l.reportContest()
		return controller.Result{RequeueAfter: wait}, nil
	}
	return l.write(ctx, d)
}

func (l *attempt) write(ctx context.Context, d desired) (controller.Result, error) {
	verb, write := "created", l.create
	if l.ing != nil {
		verb, write = "corrected", l.correct
	}
	result, err := write(ctx, d)
	switch {
	case err == nil:
	case l.ing == nil && endsQuietly(err):
		klog.FromContext(ctx).V(2).Info("No Ingress in a namespace that is going away", "service", klog.KObj(l.svc), "err", err)
		return none, nil
	default:
		return l.refused(ctx, err)
	}
	l.isWell()
	l.mem.wrote(result.ResourceVersion, time.Now())
	delay := l.mem.contest.delay()
	l.outcome, l.resourceVersion = verb+" the Ingress", result.ResourceVersion
	if delay > 0 {
		l.outcome += "; the next correction waits " + delay.String()
	}
	klog.FromContext(ctx).Info("Wrote Ingress", "ingress", klog.KObj(result), "how", verb,
		"resourceVersion", result.ResourceVersion, "host", d.host, "port", d.port, "class", d.class)
	if d.differs(result) {
		// Admission may have undone the write before it was stored. Then no event comes.
		if delay > 0 {
			l.reportContest()
		}
		return controller.Result{RequeueAfter: max(contestBase, delay)}, nil
	}
	return controller.Result{RequeueAfter: lookAgainDelay}, nil
}

const (
	rejectedDelay  = 5 * time.Minute // until the next try of an unchanged write after a 400 or 422
	forbiddenLasts = time.Minute     // until a 403 is told: a right may have been granted just now
)

// refused puts off the next try of a write that failed. The reason of a 400 or 422 may be elsewhere than in the Service:
// in a policy, or in another Ingress that has the host. So it is tried again, rarely. Anything else is retried with
// growing delays; so is what a webhook or a quota refuses with 403.
func (l *attempt) refused(ctx context.Context, err error) (controller.Result, error) {
	now := time.Now()
	switch {
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		l.mem.rejected, l.mem.rejectedAt = versionsOf(l.svc, l.ing), now
		l.outcome = "rejected"
		l.warn(ctx, &l.mem.refused, &invalidError{ReasonRejected, err.Error()})
		return controller.Result{RequeueAfter: rejectedDelay}, nil
	case apierrors.IsForbidden(err):
		if l.mem.forbiddenSince.IsZero() {
			l.mem.forbiddenSince = now
		}
		if now.Sub(l.mem.forbiddenSince) >= forbiddenLasts {
			l.warn(ctx, &l.mem.refused, &invalidError{ReasonForbidden, err.Error()})
		}
	}
	return none, err
}

// endsQuietly is true for a create in a namespace that is terminating, or gone. The Service goes with the namespace, so
// a retry is useless. Any other 404, as of a server that does not serve Ingresses at the moment, is retried.
func endsQuietly(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsNotFound(err) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}
