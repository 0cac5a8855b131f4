package reflector

import (
	"errors"
	"io"
	"net"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// ErrRewound is a watch that sent a version older than the one it started from, but not of a deletion: the server was
	// set back, as by a restored backup. That event and later ones are discarded. A list of the latest state follows.
	ErrRewound = errors.New("server was set back to an older resourceVersion")

	// What only this side knows of a stream: in a streaming list, the first two come with ErrSilent.
	errUnanswered = errors.New("no answer before the deadline of the stream")
	errOverdue    = errors.New("the stream is past its deadline")
	errAskedAgain = errors.New("event is asked for again")
)

// errorKind is what an error tells of the server, or of the list or watch. The table in errors.go says what follows it.
type errorKind uint8

const (
	kindObject       errorKind = iota // an object could not be read
	kindUnnamed                       // not even its name, and the next watch asks for the event again
	kindLostDeletion                  // not even its name, nothing asks again, and it may be a deletion
	kindEnded                         // a stream, or a request, got io.EOF: the server ended it
	kindBroken                        // no connection (but not refused), or it broke: TLS and DNS errors, too
	kindUnanswered                    // errUnanswered
	kindOverdue                       // errOverdue
	kindBusy                          // 429, or connection refused: the server cannot take the request now
	kindOutage                        // the server, or its HTTP/2 stream, is about to go away
	kindInternal                      // a 500: it may well be about the request
	kindExpired                       // the server no longer has this resourceVersion or continue token
	kindAhead                         // the server does not have this resourceVersion yet: "too large"
	kindUnsupported                   // the server does not know streaming lists, or has them switched off
	kindOther                         // something is wrong with the request, the server or the sink
)

// kindOf finds the kind of an error; the first match counts.
func kindOf(err error) errorKind {
	status, answered := errors.AsType[*apierrors.StatusError](err)
	bad, unreadable := errors.AsType[*listwatch.ObjectError](err)
	_, refused := errors.AsType[*SinkError](err)
	_, network := errors.AsType[net.Error](err)
	switch {
	case refused: // a list, by the sink, whatever the cause: it says nothing of the server
		return kindOther
	case errors.Is(err, errAskedAgain):
		return kindUnnamed
	case unreadable && bad.Key == (listwatch.Key{}) && (bad.Type == listwatch.Deleted || bad.Type == 0): // 0: unknown
		return kindLostDeletion
	case unreadable: // whatever the cause: it says nothing of the connection
		return kindObject
	case err == io.EOF, errors.Is(err, ErrEndedEarly): // A wrapped io.EOF is Broken.
		return kindEnded
	case errors.Is(err, errUnanswered):
		return kindUnanswered
	case errors.Is(err, errOverdue):
		return kindOverdue
	case rv.IsExpired(err):
		return kindExpired
	case errors.Is(err, ErrRewound), rv.IsAhead(err):
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

// isHTTP2Reset: REFUSED_STREAM, NO_ERROR or GOAWAY, by the server or a proxy. It goes by the text, because there are two
// implementations of HTTP/2 with errors of their own, and client-go's decoder puts only their text into a 500.
func isHTTP2Reset(err error) bool {
	return strings.Contains(err.Error(), "stream error: stream ID ") || strings.Contains(err.Error(), "http2: ")
}
