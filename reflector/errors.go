package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
)

var (
	// ErrSilent is a streaming list without an event of an object for [Options.SilenceTimeout]. A paged list follows.
	ErrSilent = errors.New("streaming list fell silent before the end of its initial events")
	// ErrEndedEarly is a streaming list that ended before its initial events did. A paged list follows.
	ErrEndedEarly = errors.New("streaming list ended before the end of its initial events")
	// ErrInconsistent is a streaming list that differs from a list at the same version ([Options.CheckConsistency]).
	// It is dropped, and a paged list follows.
	ErrInconsistent = errors.New("streaming list differs from a list")
	// ErrVeryShortWatch is a watch that ended within a second, before the resourceVersion advanced: there was no event,
	// or only unreadable, old, versionless or synthetic ones. A list follows.
	ErrVeryShortWatch = errors.New("very short watch: ended within a second, before the resourceVersion advanced")
	// ErrRewound is a watch that sent a resourceVersion older than the one it started from: the server was set back,
	// as by a restored backup. That event is discarded. A list without a resourceVersion follows.
	ErrRewound  = errors.New("server was set back to an older resourceVersion")
	errDeadline = errors.New("deadline of the stream") // set by this side; in a streaming list it becomes ErrSilent
)

// errorKind is what an error tells of the server. It decides what follows.
type errorKind uint8

const (
	kindOther       errorKind = iota // something is wrong with the request or the server
	kindObject                       // an object could not be read
	kindSink                         // a SinkError
	kindEnded                        // a stream ended between two events (io.EOF itself), or before its list did
	kindDeadline                     // errDeadline
	kindExpired                      // the server no longer has this resourceVersion or continue token
	kindAhead                        // the server does not have this resourceVersion yet: "too large"
	kindUnsupported                  // the server does not know streaming lists, or has them switched off
	kindBusy                         // the request is fine, the server just cannot take it now
	kindOutage                       // the server, or its HTTP/2 stream, is about to go away
	kindInternal                     // a 500: it may well be about the request
	kindBroken                       // no connection, or it broke: TLS and DNS errors, too, and what wraps io.EOF
)

// kindOf finds the kind of an error; the first match counts. The table says what follows an error in each state.
//
//	kind           ListingStreaming  ListingPaged  Connecting        Watching
//	Object         paged (3)         -             -                 next event (1)
//	Ended, Broken  paged             wait, list    wait, watch (5)   watch (2)
//	Deadline       paged (3)         -             watch             watch
//	Busy           wait, list        wait, list    wait, watch       wait, watch
//	Outage         paged             wait, list    wait, watch (5)   wait, watch (5)
//	Internal       paged             wait, list    wait, watch (4)   wait, watch (4)
//	Expired        latest            latest        wait, list        wait, list
//	Ahead          latest            latest        wait, latest      wait, latest
//	Unsupported    paged (3)         latest        wait, list        wait, list
//	Other          paged             wait, list    wait, list        wait, list
//
// The words and the footnotes:
//   - wait: BackingOff comes first. watch: from the last resourceVersion on, or a list if that is "" or "0".
//   - list: a streaming list, or a paged one while lists stay paged. paged: a paged list.
//   - latest: a list without a resourceVersion. If the list that failed had none either, the row Other applies.
//   - (1) If the event does not name its object: watch, once. After that, if it may be a deletion: wait, latest.
//   - (2) If the watch was very short, it is an ErrVeryShortWatch. Then the row Other applies.
//   - (3) Lists then stay paged for StreamingRetry; after Deadline, only if the server had answered.
//   - (4) Until MaxInternalErrorRetry is over. Then the row Other applies.
//   - (5) Up to the ninth failure in a row. Then the row Other applies.
//   - After ErrInconsistent the row Unsupported applies, but it is reported. A sink's error is reported and changes no
//     state.
//   - Not reported: Unsupported in ListingStreaming, Ended in Watching, Deadline in Connecting and in Watching.
func kindOf(err error) errorKind {
	status, answered := errors.AsType[*apierrors.StatusError](err)
	_, unreadable := errors.AsType[*listwatch.ObjectError](err)
	_, refused := errors.AsType[*SinkError](err)
	_, network := errors.AsType[net.Error](err)
	switch {
	case refused:
		return kindSink
	case unreadable: // whatever the cause: it says nothing of the connection
		return kindObject
	case err == io.EOF, errors.Is(err, ErrSilent), errors.Is(err, ErrEndedEarly):
		return kindEnded
	case err == errDeadline:
		return kindDeadline
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return kindExpired
	case errors.Is(err, ErrRewound), apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge),
		answered && apierrors.IsTimeout(err) && // servers before 1.18.6: only in words, in the message or in a cause
			strings.Contains(status.ErrStatus.String(), "Too large resource version"):
		return kindAhead
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err), apierrors.IsMethodNotSupported(err):
		return kindUnsupported
	case apierrors.IsTooManyRequests(err), utilnet.IsConnectionRefused(err):
		return kindBusy
	case answered && status.ErrStatus.Code > 500, apierrors.IsServerTimeout(err), isHTTP2Reset(err):
		return kindOutage
	case apierrors.IsInternalError(err):
		return kindInternal
	case answered:
		return kindOther
	case network, utilnet.IsProbableEOF(err), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return kindBroken
	}
	return kindOther
}

// isHTTP2Reset: REFUSED_STREAM, NO_ERROR, GOAWAY, by the server or a proxy. There are two implementations of HTTP/2
// with errors of their own, and client-go's decoder puts their text into a 500, so it goes by the text.
func isHTTP2Reset(err error) bool {
	return strings.Contains(err.Error(), "stream error: stream ID ") || strings.Contains(err.Error(), "http2: ")
}

// LogError is the default of Options.OnError: it logs err under the reflector's name, at V(2) if that heals by itself.
func LogError(ctx context.Context, name string, err error) {
	logger := klog.FromContext(ctx).WithValues("reflector", name)
	kind := kindOf(err)
	if _, unanswered := errors.AsType[*url.Error](err); unanswered && kind == kindBroken || errors.Is(err, ErrRewound) {
		kind = kindOther // such as a certificate or a name that is wrong: it may not heal by itself
	}
	switch kind {
	case kindEnded, kindExpired, kindAhead, kindBusy, kindOutage, kindBroken:
		logger.V(2).Info("List or watch ended, another follows", "err", err)
	default:
		logger.Error(err, "Failed to list, to watch or to take over an object")
	}
}

// fail keeps and reports an error of a list or watch.
func (r *Reflector[T]) fail(ctx context.Context, what string, err error) {
	err = fmt.Errorf("%s: failed to %s: %w", r.opts.Name, what, err)
	r.update(func() { r.lastErr = err })
	r.report(ctx, err)
}

// checkSink reports what the sink returned, if that is an error.
func (r *Reflector[T]) checkSink(ctx context.Context, op string, key listwatch.Key, err error) {
	if err != nil {
		r.report(ctx, &SinkError{Op: op, Key: key, Err: err})
	}
}

// report counts err and tells OnError of it.
func (r *Reflector[T]) report(ctx context.Context, err error) {
	count := &r.stats.Failures
	switch kindOf(err) {
	case kindObject:
		count = &r.stats.ObjectErrors
	case kindSink:
		count = &r.stats.SinkErrors
	}
	r.update(func() { *count++ })
	if r.opts.OnError != nil {
		r.opts.OnError(ctx, err)
		return
	}
	LogError(ctx, r.opts.Name, err)
}
