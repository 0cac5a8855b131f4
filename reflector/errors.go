package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
)

var (
	// ErrSilent is a streaming list without an event of an object for [Options.SilenceTimeout]. A paged list follows.
	ErrSilent = errors.New("streaming list fell silent before the end of its initial events")
	// ErrEndedEarly is a streaming list that ended before its initial events did. A paged list follows.
	ErrEndedEarly = errors.New("streaming list ended before the end of its initial events")
	// ErrVeryShortWatch is a watch that ended within a second, before the resourceVersion advanced: there was no event,
	// or only unreadable, old, versionless or initial ones. A list follows.
	ErrVeryShortWatch = errors.New("very short watch: ended within a second, before the resourceVersion advanced")
	// ErrRewound is a watch that sent a resourceVersion older than the one it started from: the server was set back,
	// as by a restored backup. That event is discarded. A list without a resourceVersion follows.
	ErrRewound = errors.New("server was set back to an older resourceVersion")

	// Set by this side. In a streaming list both become ErrSilent.
	errUnanswered = errors.New("no answer until the deadline of the stream")
	errOverdue    = errors.New("deadline of the stream")
)

// errorKind is what an error tells of the server, or of the list or watch: a row of the table.
type errorKind string

const (
	kindObject       errorKind = "Object"       // an object could not be read
	kindUnnamed      errorKind = "Unnamed"      // the same, without a name, and it was not asked for again yet
	kindLostDeletion errorKind = "LostDeletion" // the same, if it was, and if it may be a deletion
	kindSink         errorKind = "Sink"         // a SinkError: it changes no state
	kindEnded        errorKind = "Ended"        // a stream, or a request, got io.EOF: the server ended it
	kindBroken       errorKind = "Broken"       // no connection (but not refused), or it broke: TLS and DNS errors, too
	kindShort        errorKind = "Short"        // ErrVeryShortWatch
	kindUnanswered   errorKind = "Unanswered"   // errUnanswered
	kindOverdue      errorKind = "Overdue"      // errOverdue
	kindBusy         errorKind = "Busy"         // 429, or connection refused: the server cannot take the request now
	kindOutage       errorKind = "Outage"       // the server, or its HTTP/2 stream, is about to go away
	kindInternal     errorKind = "Internal"     // a 500: it may well be about the request
	kindExpired      errorKind = "Expired"      // the server no longer has this resourceVersion or continue token
	kindAhead        errorKind = "Ahead"        // the server does not have this resourceVersion yet: "too large"
	kindUnsupported  errorKind = "Unsupported"  // the server does not know streaming lists, or has them switched off
	kindOther        errorKind = "Other"        // something is wrong with the request or the server
)

// kindOf finds the kind of an error; the first match counts. Unnamed and LostDeletion are Object here: only a watch can
// tell them apart.
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
	case err == io.EOF, // What wraps it is Broken. For LogError, the names that a streaming list gives to it are, too:
		errors.Is(err, ErrSilent), errors.Is(err, ErrEndedEarly):
		return kindEnded
	case err == errUnanswered:
		return kindUnanswered
	case err == errOverdue:
		return kindOverdue
	case errors.Is(err, ErrVeryShortWatch):
		return kindShort
	case rv.IsExpired(err):
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
	default:
		return kindOther
	}
}

// isHTTP2Reset: REFUSED_STREAM, NO_ERROR, GOAWAY, by the server or a proxy. There are two implementations of HTTP/2
// with errors of their own, and client-go's decoder puts their text into a 500, so it goes by the text.
func isHTTP2Reset(err error) bool {
	return strings.Contains(err.Error(), "stream error: stream ID ") || strings.Contains(err.Error(), "http2: ")
}

// table says what follows an error, by its kind and by the state that met it. The program executes it: follow does what
// the words say. "-" is not expected to happen.
//
//	next event  the stream goes on
//	watch       a watch from the last resourceVersion on, or a list if that is "" or "0"
//	list        a streaming list, or a paged one while lists stay paged
//	paged       a paged list
//	for long    lists stay paged for StreamingRetry
//	latest      lists ask for the latest state until one succeeds
//	wait        BackingOff comes first; what comes after it is settled before
//	quiet       the error is not reported
//
// The row Other takes the place of "-", and of a cell with one of these words beyond its limit:
//
//	once        unless the list that failed had asked for the latest state already
//	9 times     in a row, until a watch works again. Perhaps only watches fail, as behind a proxy
//	a while     until MaxInternalErrorRetry is over
const table = `
| error        | ListingStreaming       | ListingPaged        | Connecting           | Watching             |
|--------------|------------------------|---------------------|----------------------|----------------------|
| Object       | paged, for long        | -                   | -                    | next event           |
| Unnamed      | -                      | -                   | -                    | watch                |
| LostDeletion | -                      | -                   | -                    | wait, list, latest   |
| Sink         | -                      | -                   | -                    | -                    |
| Ended        | paged                  | wait, list          | 9 times, wait, watch | watch, quiet         |
| Broken       | paged                  | wait, list          | 9 times, wait, watch | watch                |
| Short        | -                      | -                   | -                    | wait, list           |
| Unanswered   | paged                  | -                   | watch, quiet         | -                    |
| Overdue      | paged, for long        | -                   | -                    | watch, quiet         |
| Busy         | wait, list             | wait, list          | wait, watch          | wait, watch          |
| Outage       | paged                  | wait, list          | 9 times, wait, watch | 9 times, wait, watch |
| Internal     | paged                  | wait, list          | a while, wait, watch | a while, wait, watch |
| Expired      | once, list, latest     | once, paged, latest | wait, list           | wait, list           |
| Ahead        | once, list, latest     | once, paged, latest | wait, list, latest   | wait, list, latest   |
| Unsupported  | paged, for long, quiet | once, paged, latest | wait, list           | wait, list           |
| Other        | paged                  | wait, list          | wait, list           | wait, list           |
`

// wordsFor looks an error up in the table. The four states after Idle are its columns; columns[0] is blank: it is what
// follows the name of the kind.
func wordsFor(kind errorKind, state State) []string {
	_, row, _ := strings.Cut(table, "\n| "+string(kind)+" ")
	columns := strings.Split(row, "|")
	return strings.Split(strings.TrimSpace(columns[state]), ", ")
}

// wordsWithinLimit counts an error in the present state towards the limit of its cell. It returns the words of the
// cell, or those of the row Other.
func (r *Reflector[T]) wordsWithinLimit(kind errorKind, asked string) []string {
	words := wordsFor(kind, r.at.name)
	beyond := false
	switch words[0] {
	case "-":
		beyond = true
	case "once":
		beyond = asked == ""
	case "9 times":
		r.outages++
		beyond = r.outages > 9
	case "a while":
		beyond = !r.internal.within(time.Now(), r.opts.MaxInternalErrorRetry)
	}
	if beyond {
		return wordsFor(kindOther, r.at.name)
	}
	return words
}

// follow does what the table says of an error in the present state, whose stream it closes, and returns the next state.
// asked is the resourceVersion that the request was for.
func (r *Reflector[T]) follow(ctx context.Context, kind errorKind, asked string, err error) *state[T] {
	if ctx.Err() != nil {
		return stopped[T]()
	}
	words := r.wordsWithinLimit(kind, asked)
	says := func(word string) bool { return slices.Contains(words, word) }
	if says("next event") {
		r.report(ctx, err)
		return r.at
	}
	r.at.stream.close()
	if !says("quiet") {
		r.fail(ctx, err)
	}
	if says("for long") {
		r.pagedUntil = time.Now().Add(r.opts.StreamingRetry)
	}
	if says("latest") {
		r.askLatest = true
	}
	next := r.listing()
	if says("paged") {
		next = r.listingPaged()
	}
	if says("watch") {
		next = r.resuming()
	}
	if says("wait") {
		next = r.backOff(err, next)
	}
	return next
}

// fail keeps and reports an error of a list or watch.
func (r *Reflector[T]) fail(ctx context.Context, err error) {
	what := map[State]string{ListingStreaming: "stream the list", ListingPaged: "list"}[r.at.name]
	err = fmt.Errorf("%s: failed to %s: %w", r.opts.Name, cmp.Or(what, "watch"), err)
	r.update(func() { r.lastErr = err })
	r.report(ctx, err)
}

// report counts err, and tells the user's OnError of it.
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
