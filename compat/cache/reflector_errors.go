package cache

import (
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// DefaultWatchErrorHandler logs err. Errors of normal operation, after which the reflector recovers by itself, are
// logged at a higher verbosity. r may be nil.
func DefaultWatchErrorHandler(ctx context.Context, r *Reflector, err error) {
	var who []any
	if r != nil {
		who = []any{"reflector", r.Name(), "type", r.TypeDescription()}
	}
	logger := klog.FromContext(ctx).WithValues(who...)
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		logger.V(4).Info("Watch closed", "err", err)
	case err == io.EOF:
	case err == io.ErrUnexpectedEOF:
		logger.V(1).Info("Watch closed with unexpected EOF", "err", err)
	default:
		utilruntime.HandleErrorWithContext(ctx, err, "Failed to watch", who...)
	}
}

// errorRouter sends a native reflector's errors to the same places as client-go. Errors of lists and refused watches go
// to the watch-error handler, and the rest to the log.
type errorRouter struct {
	name, what string
	// shell returns the Reflector that the handler gets. It never returns nil.
	shell func() *Reflector
	// handler is DefaultWatchErrorHandler if nil.
	handler WatchErrorHandlerWithContext
}

// failure is an error that ended a watch, or a list.
type failure struct {
	handle error // the error for the watch-error handler; nil if there is none for it
	waits  bool  // the server is busy: the same request follows after a wait
}

func (e *errorRouter) tell(ctx context.Context, err error) {
	defer utilruntime.HandleCrashWithContext(ctx) // client-go's loop has it, too
	if e.handler == nil {
		DefaultWatchErrorHandler(ctx, e.shell(), err)
		return
	}
	e.handler(ctx, e.shell(), err)
}

// sort logs the errors that belong in the log. It returns nil if neither a list nor a watch has failed.
func (e *errorRouter) sort(ctx context.Context, err error) *failure {
	var bad *listwatch.ObjectError
	var refused *reflector.SinkError
	var request *requestError
	switch {
	case errors.As(err, &bad):
		utilruntime.HandleErrorWithContext(ctx, bad.Err, "Object left out", "reflector", e.name, "event", bad.Type.String(), "object", klog.KRef(bad.Key.Namespace, bad.Key.Name))
		return nil
	case errors.As(err, &refused):
		utilruntime.HandleErrorWithContext(ctx, refused.Err, "The store returned an error", "reflector", e.name, "call", refused.Op, "object", klog.KRef(refused.Key.Namespace, refused.Key.Name))
		return nil
	case errors.Is(err, errNotMetadataAlone):
		klog.FromContext(ctx).Info("Warning: the transform has changed more than metadata, failed, or returned another object. It gets deep copies from now on, and another list follows", "reflector", e.name, "type", e.what)
		return nil
	case errors.As(err, &request):
		return e.sortRequest(ctx, request)
	}
	return e.sortStream(ctx, err)
}

func (e *errorRouter) logger(ctx context.Context, err error) klog.Logger {
	return klog.FromContext(ctx).WithValues("reflector", e.name, "type", e.what, "err", err)
}

func (e *errorRouter) noStreamingList(ctx context.Context, err error) {
	e.logger(ctx, err).V(4).Info("Data could not be fetched as a streaming list, a list or another try follows")
}

func (e *errorRouter) sortRequest(ctx context.Context, request *requestError) *failure {
	logger := e.logger(ctx, request.err)
	busy := utilnet.IsConnectionRefused(request.err) || apierrors.IsTooManyRequests(request.err)
	switch {
	case request.kind == streamRequest:
		e.noStreamingList(ctx, request.err)
		return nil
	case request.kind == versionRequest && (rv.IsExpired(request.err) || rv.IsAhead(request.err)):
		logger.V(4).Info("The version is not available, a list of the latest follows")
		return nil
	case request.kind == listRequest, request.kind == versionRequest:
		return &failure{handle: fmt.Errorf("failed to list %v: %w", e.what, request.err)}
	case busy:
		logger.V(4).Info("Watch failed - backing off")
		return &failure{waits: true}
	}
	return &failure{handle: request.err}
}

// sortStream sorts the error that ended a watch.
func (e *errorRouter) sortStream(ctx context.Context, err error) *failure {
	logger := klog.FromContext(ctx).WithValues("reflector", e.name, "type", e.what)
	switch {
	case errors.Is(err, reflector.ErrSilent), errors.Is(err, reflector.ErrEndedEarly):
		logger.Info("Warning: a streaming list failed, a list follows", "err", err)
		return nil
	case errors.Is(err, reflector.ErrVeryShortWatch):
		logger.Info("Warning: watch ended with error", "err", &VeryShortWatchError{Name: e.name})
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		logger.V(4).Info("Watch closed", "err", err)
	case apierrors.IsTooManyRequests(err):
		logger.V(2).Info("Watch returned 429 - backing off", "err", err)
		return &failure{waits: true}
	default:
		logger.Info("Warning: watch ended with error", "err", err)
	}
	return &failure{}
}
