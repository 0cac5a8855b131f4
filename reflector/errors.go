package reflector

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"glasswatch/reflector/backoff"
)

// table says what follows an error, by its kind and by the state that met it. The program executes it: follow does what
// the words say. "-" is not expected to happen.
//
//	next event  the stream goes on
//	watch       a watch from the last resourceVersion on, or a list if that is not known
//	list        a streaming list, or a paged one while lists stay paged
//	paged       a paged list
//	for long    lists stay paged for StreamingRetry
//	latest      lists ask for the latest state until one succeeds
//	wait        BackingOff comes first; which state follows it is decided before the wait
//	quiet       the error is not reported
//
// Four words are limits, and come first in a cell. Beyond its limit the row Other takes the cell's place, as for "-":
//
//	once        unless the list that failed had asked for the latest state already
//	9 times     in a row, until a watch works again. Perhaps only watches fail, as behind a proxy
//	a while     until MaxInternalErrorRetry is over
//	not short   unless it was a very short watch: see ErrVeryShortWatch. Perhaps the server cannot serve watches from this
//	            resourceVersion, and asking again at once would go on for ever
const table = `
| error        | ListingStreaming       | ListingPaged        | Connecting           | Watching                |
|--------------|------------------------|---------------------|----------------------|-------------------------|
| Object       | paged, for long        | -                   | -                    | next event              |
| Unnamed      | -                      | -                   | -                    | watch                   |
| LostDeletion | paged, for long        | -                   | -                    | wait, list, latest      |
| Ended        | paged                  | wait, list          | 9 times, wait, watch | not short, watch, quiet |
| Broken       | paged                  | wait, list          | 9 times, wait, watch | not short, watch        |
| Unanswered   | paged                  | -                   | watch, quiet         | -                       |
| Overdue      | paged, for long        | -                   | -                    | watch, quiet            |
| Busy         | wait, list             | wait, list          | wait, watch          | wait, watch             |
| Outage       | paged                  | wait, list          | 9 times, wait, watch | 9 times, wait, watch    |
| Internal     | paged                  | wait, list          | a while, wait, watch | a while, wait, watch    |
| Expired      | once, list, latest     | once, paged, latest | wait, list           | wait, list              |
| Ahead        | once, list, latest     | once, paged, latest | wait, list, latest   | wait, list, latest      |
| Unsupported  | paged, for long, quiet | once, paged, latest | wait, list           | wait, list              |
| Other        | paged                  | wait, list          | wait, list           | wait, list              |
`

// reactions is the table, read when the program starts.
var reactions = mustParse(table)

// follow does what the table says of an error in the present state, and returns the next state.
func (r *Reflector[T]) follow(ctx context.Context, err error) *state[T] {
	if ctx.Err() != nil {
		return stopped[T]()
	}
	here := r.current.name
	does := reactions[kindOf(err)][here]
	exceeded := r.countTowards(does.limit)
	if exceeded && does.limit == "not short" {
		err = fmt.Errorf("%w (%v)", ErrVeryShortWatch, err)
	}
	if exceeded || does.next == "" {
		does = reactions[kindOther][here]
	}
	if does.next == "next event" {
		r.report(ctx, err)
		return r.current
	}
	r.current.stream.close() // before OnError, which may take its time
	if !does.quiet {
		r.fail(ctx, err)
	}
	if does.forLong {
		r.pagedUntil = time.Now().Add(r.opts.StreamingRetry)
	}
	if does.latest {
		r.askLatest = true
	}
	var next *state[T]
	switch does.next {
	case "watch":
		next = r.resuming()
	case "list":
		next = r.listing()
	case "paged":
		next = r.listingPaged()
	}
	if does.wait {
		next = backingOff(r.wait(err), next)
	}
	return next
}

// countTowards counts an error towards a limit of the table, and reports whether the limit is exceeded.
func (r *Reflector[T]) countTowards(limit string) bool {
	switch limit {
	case "once":
		return r.versionFor(r.current.name) == latestVersion
	case "9 times":
		r.outages++
		return r.outages > 9
	case "a while":
		r.internal.Note(time.Now())
		exceeded := r.opts.MaxInternalErrorRetry <= 0 || r.internal.Length() > r.opts.MaxInternalErrorRetry
		if exceeded {
			r.internal = backoff.Window{}
		}
		return exceeded
	case "not short":
		return r.current.stream.isVeryShort()
	default:
		return false
	}
}

// wait is how long to wait after err.
func (r *Reflector[T]) wait(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	retryAfter := time.Duration(seconds) * time.Second
	if r.opts.Delay != nil {
		return max(r.opts.Delay(), retryAfter)
	}
	return r.backoff.Next(time.Now(), retryAfter)
}
