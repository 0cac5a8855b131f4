package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
)

// fail keeps and reports an error of a list or watch.
func (r *Reflector[T]) fail(ctx context.Context, err error) {
	what := map[State]string{ListingStreaming: "stream the list", ListingPaged: "list"}[r.current.name]
	err = fmt.Errorf("%s: failed to %s: %w", r.opts.Name, cmp.Or(what, "watch"), err)
	r.update(func() { r.lastErr = err })
	r.report(ctx, err)
}

// report counts err, and tells the user's OnError of it.
func (r *Reflector[T]) report(ctx context.Context, err error) {
	_, refused := errors.AsType[*SinkError](err)
	_, unreadable := errors.AsType[*listwatch.ObjectError](err)
	r.update(func() {
		switch {
		case refused:
			r.stats.SinkErrors++
		case unreadable:
			r.stats.ObjectErrors++
		default:
			r.stats.Failures++
		}
	})
	if r.opts.OnError != nil {
		r.opts.OnError(ctx, err)
		return
	}
	LogError(ctx, r.opts.Name, err)
}

// LogError is the default of Options.OnError: it logs err under the reflector's name, at V(1) to V(4) if it heals by
// itself. A request without an answer, and a 5xx, may not: an address, a certificate or a proxy may be wrong.
func LogError(ctx context.Context, name string, err error) {
	logger := klog.FromContext(ctx).WithValues("reflector", name)
	kind := kindOf(err)
	_, unreached := errors.AsType[*url.Error](err)
	_, answered := errors.AsType[*apierrors.StatusError](err)
	switch {
	case unreached, answered && kind == kindOutage, errors.Is(err, ErrRewound):
		logger.Error(err, "Failed to list, to watch or to take over an object")
	case errors.Is(err, ErrVeryShortWatch):
		logger.Info("Watch ended at once, a list follows", "err", err)
	case kind == kindBroken:
		logger.V(1).Info("List or watch broke off, another follows", "err", err)
	case kind == kindEnded, errors.Is(err, ErrSilent), kind == kindAhead, kind == kindBusy, kind == kindOutage:
		logger.V(2).Info("List or watch ended, another follows", "err", err)
	case kind == kindExpired:
		logger.V(4).Info("List or watch closed", "err", err)
	default:
		logger.Error(err, "Failed to list, to watch or to take over an object")
	}
}

// log logs what is no error, with client-go's keys and levels, so that the logs of both read alike.
func (r *Reflector[T]) log(ctx context.Context, level int, message string, more ...any) {
	logger := klog.FromContext(ctx).V(level)
	logger.Info(message, append([]any{"reflector", r.opts.Name}, more...)...)
}
