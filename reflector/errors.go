package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
)

var (
	// ErrSilent is a streaming list that had no event about an object, and no end of the initial events, for
	// [Options.SilenceTimeout]. A paged list follows.
	ErrSilent = errors.New("streaming list fell silent before the end of its initial events")
	// ErrEndedEarly is a streaming list that ended before its initial events did. A paged list follows.
	ErrEndedEarly = errors.New("streaming list ended before the end of its initial events")
	// ErrInconsistent is a streaming list that differs from a list at the same version ([Options.CheckConsistency]).
	// It is dropped, and a paged list follows.
	ErrInconsistent = errors.New("streaming list differs from a list")
	// ErrVeryShortWatch is a watch that ended within a second without bringing anything. A list follows.
	ErrVeryShortWatch = errors.New("very short watch: ended within a second without an event")
	// ErrRewound is a watch that sent a resourceVersion older than the one it started from: the server was set back,
	// as by a restored backup. What it brought is discarded; a list without a resourceVersion follows.
	ErrRewound = errors.New("server was set back to an older resourceVersion")

	errRepeatedToken = errors.New("the server answers a continue token with the same one")
	errUnknownEvent  = errors.New("unknown event type")
	errNamelessItem  = errors.New("list has an item that does not tell its name")

	// errOverdue ends a watch whose server let the timeout pass; it counts as a clean end.
	errOverdue = errors.New("watch outlived its timeout")
)

// isExpired: the server no longer has this resourceVersion or continue token.
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// isTooLarge: the server does not have this resourceVersion yet. Servers before 1.18.6 said so in the text only.
func isTooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) ||
		apierrors.IsTimeout(err) && strings.Contains(err.Error(), "Too large resource version")
}

// isUnavailable: the resourceVersion that was asked for is not to be had, but another one may.
func isUnavailable(err error) bool { return isExpired(err) || isTooLarge(err) }

// isStreamingRefused: the server does not know streaming lists, or has them switched off.
func isStreamingRefused(err error) bool {
	return apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) || apierrors.IsMethodNotSupported(err)
}

// isBusy: nothing is wrong with the request, the server just cannot take it now.
func isBusy(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// isOutage: the request did not get through, or not to a healthy server. A 500 is not among them: it may well be about
// the request.
func isOutage(err error) bool {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && status.ErrStatus.Code > 500 {
		return true
	}
	return apierrors.IsServerTimeout(err) || isBroken(err) || isHTTP2Reset(err)
}

// isBroken: the connection went away.
func isBroken(err error) bool {
	if _, isAnswer := errors.AsType[*apierrors.StatusError](err); isAnswer {
		return false
	}
	_, isNetwork := errors.AsType[net.Error](err)
	return isNetwork || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err)
}

// isHTTP2Reset: the server, or a proxy, reset the stream or ended its connection: REFUSED_STREAM, NO_ERROR, GOAWAY.
// There are two implementations of HTTP/2 with errors of their own, so it goes by their text. client-go's decoder
// puts the text into a status.
func isHTTP2Reset(err error) bool {
	_, isAnswer := errors.AsType[*apierrors.StatusError](err)
	if isAnswer && !apierrors.HasStatusCause(err, "ClientWatchDecoding") {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "stream error: stream ID ") || strings.Contains(text, "http2: ")
}

// retryAfter is the wait that the server asked for; 0 if it did not.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}

// LogError is the default of Options.OnError: it logs err under the reflector's name. What heals by itself in the
// course of business is not worth a line at the usual verbosity.
func LogError(ctx context.Context, name string, err error) {
	logger := klog.FromContext(ctx).WithValues("reflector", name)
	level := 0
	switch {
	case isUnavailable(err):
		level = 4
	case isBusy(err):
		level = 2
	case errors.Is(err, io.ErrUnexpectedEOF), isHTTP2Reset(err):
		level = 1
	case errors.Is(err, ErrVeryShortWatch), errors.Is(err, ErrSilent), errors.Is(err, ErrEndedEarly),
		errors.Is(err, ErrRewound):
	default:
		logger.Error(err, "Failed to list, to watch or to take over an object")
		return
	}
	logger.V(level).Info("List or watch ended, another follows", "err", err)
}

// fail records and reports an error of a list or watch.
func (r *Reflector[T]) fail(ctx context.Context, what string, err error) {
	err = fmt.Errorf("%s: failed to %s: %w", r.opts.Name, what, err)
	r.update(func() {
		r.lastErr = err
		r.stats.Failures++
	})
	r.report(ctx, err)
}

func (r *Reflector[T]) reportBad(ctx context.Context, bad *listwatch.ObjectError) {
	r.update(func() { r.stats.ObjectErrors++ })
	r.report(ctx, bad)
}

// checkSink counts and reports what the sink returned, if that is an error.
func (r *Reflector[T]) checkSink(ctx context.Context, op string, key listwatch.Key, err error) {
	if err != nil {
		r.update(func() { r.stats.SinkErrors++ })
		r.report(ctx, &SinkError{Op: op, Key: key, Err: err})
	}
}

func (r *Reflector[T]) report(ctx context.Context, err error) {
	if r.opts.OnError != nil {
		r.opts.OnError(ctx, err)
		return
	}
	LogError(ctx, r.opts.Name, err)
}
