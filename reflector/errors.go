package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

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

	errUnknownEvent = errors.New("unknown event type")
	errNamelessItem = errors.New("list has an item that does not tell its name")
)

// errorKind is what an error tells of the server. It decides what follows.
type errorKind uint8

const (
	kindOther       errorKind = iota // something is wrong with the request, an object or the server
	kindEnded                        // a stream ended between two events
	kindEarly                        // one of our own: a stream ended before it was of use
	kindRewound                      // ErrRewound
	kindExpired                      // the server no longer has this resourceVersion or continue token
	kindTooLarge                     // the server does not have this resourceVersion yet
	kindUnsupported                  // the server does not know streaming lists, or has them switched off
	kindBusy                         // the request is fine, the server just cannot take it now
	kindReset                        // the HTTP/2 stream was reset, or its connection was ended
	kindBroken                       // the connection went away
	kindOutage                       // the answer is not that of a healthy server
	kindInternal                     // a 500: it may well be about the request
)

// kindOf is the table of all errors.
func kindOf(err error) errorKind {
	status, answered := errors.AsType[*apierrors.StatusError](err)
	_, network := errors.AsType[net.Error](err)
	switch {
	case isOneObjects(err):
		return kindOther
	case err == io.EOF:
		return kindEnded
	case errors.Is(err, ErrSilent), errors.Is(err, ErrEndedEarly), errors.Is(err, ErrVeryShortWatch):
		return kindEarly
	case errors.Is(err, ErrRewound):
		return kindRewound
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return kindExpired
	case isTooLarge(err):
		return kindTooLarge
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err), apierrors.IsMethodNotSupported(err):
		return kindUnsupported
	case apierrors.IsTooManyRequests(err), utilnet.IsConnectionRefused(err):
		return kindBusy
	case isHTTP2Reset(err, answered):
		return kindReset
	case answered && status.ErrStatus.Code > 500, apierrors.IsServerTimeout(err):
		return kindOutage
	case apierrors.IsInternalError(err):
		return kindInternal
	case !answered && (network || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err)):
		return kindBroken
	}
	return kindOther
}

// isUnavailable: the resourceVersion that was asked for is not to be had, but another one may.
func isUnavailable(err error) bool { return kindOf(err) == kindExpired || kindOf(err) == kindTooLarge }

// isOneObjects: the error is about an object, or the sink's. Its cause says nothing of the connection.
func isOneObjects(err error) bool {
	_, unreadable := errors.AsType[*listwatch.ObjectError](err)
	_, refused := errors.AsType[*SinkError](err)
	return unreadable || refused
}

// isTooLarge: servers before 1.18.6 said it in the text only.
func isTooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) ||
		apierrors.IsTimeout(err) && strings.Contains(err.Error(), "Too large resource version")
}

// isHTTP2Reset: REFUSED_STREAM, NO_ERROR, GOAWAY, by the server or a proxy. There are two implementations of HTTP/2
// with errors of their own, so it goes by their text. client-go's decoder puts the text into an answer of its own.
func isHTTP2Reset(err error, answered bool) bool {
	if answered && !apierrors.HasStatusCause(err, "ClientWatchDecoding") {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "stream error: stream ID ") || strings.Contains(text, "http2: ")
}

// logLevels are the verbosities of what heals by itself in the course of business.
var logLevels = map[errorKind]int{
	kindEarly: 0, kindRewound: 0, kindBroken: 1, kindReset: 1, kindBusy: 2, kindExpired: 4, kindTooLarge: 4,
}

// LogError is the default of Options.OnError: it logs err under the reflector's name, and quietly what heals by itself.
func LogError(ctx context.Context, name string, err error) {
	logger := klog.FromContext(ctx).WithValues("reflector", name)
	if level, heals := logLevels[kindOf(err)]; heals {
		logger.V(level).Info("List or watch ended, another follows", "err", err)
		return
	}
	logger.Error(err, "Failed to list, to watch or to take over an object")
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
