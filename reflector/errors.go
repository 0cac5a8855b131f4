package reflector

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// table says what follows an error, by its kind and by the state that met it. The program executes it: follow does what
// the words say. "-" is not expected to happen.
//
//	next event  the stream goes on
//	watch       a watch from the last resourceVersion on, or a list if that is "" or "0"
//	list        a streaming list, or a paged one while lists stay paged
//	paged       a paged list
//	for long    lists stay paged for StreamingRetry
//	latest      lists ask for the latest state until one succeeds
//	wait        BackingOff comes first; which state follows it is decided before the wait
//	quiet       the error is not reported
//
// Three words are limits, and come first in a cell. Beyond its limit the row Other takes the cell's place, as for "-":
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

// wordsOf has the words of the table's cells.
var wordsOf = parse(table)

type cell struct {
	kind  errorKind
	state State
}

// parse reads the table. Each row begins with the name of a kind. Its other columns are the four states after Idle.
func parse(table string) map[cell][]string {
	words := map[cell][]string{}
	for _, row := range strings.Split(strings.TrimSpace(table), "\n") {
		columns := strings.Split(strings.Trim(row, "|"), "|")
		kind := errorKind(strings.TrimSpace(columns[0]))
		for state := ListingStreaming; state <= Watching; state++ {
			words[cell{kind, state}] = strings.Split(strings.TrimSpace(columns[state]), ", ")
		}
	}
	return words
}

// countTowards counts an error towards the limit of its cell in the table, if it has one, and reports whether that is
// exceeded.
func (r *Reflector[T]) countTowards(limit, asked string) bool {
	switch limit {
	case "-":
		return true
	case "once":
		return asked == ""
	case "9 times":
		r.outages++
		return r.outages > 9
	case "a while":
		return !r.internal.within(time.Now(), r.opts.MaxInternalErrorRetry)
	default:
		return false
	}
}

// errorWindow tells for how long errors have been coming: errors with less than a minute between them belong together.
type errorWindow struct {
	first, last time.Time
}

// within notes an error and reports whether the first of its window is no longer ago than limit. When it is, the window
// ends, and the next error opens another.
func (w *errorWindow) within(now time.Time, limit time.Duration) bool {
	if now.Sub(w.last) >= time.Minute {
		w.first = now
	}
	w.last = now
	if limit > 0 && now.Sub(w.first) <= limit {
		return true
	}
	w.last = time.Time{}
	return false
}

// follow does what the table says of an error in the present state, and returns the next state. asked is the
// resourceVersion that the request was for.
func (r *Reflector[T]) follow(ctx context.Context, kind errorKind, asked string, err error) *state[T] {
	if ctx.Err() != nil {
		return stopped[T]()
	}
	if kind == kindSink { // of another reflector's sink, which the ListerWatcher passes on
		kind = kindOther
	}
	words := wordsOf[cell{kind, r.current.name}]
	exceeded := r.countTowards(words[0], asked)
	if exceeded {
		words = wordsOf[cell{kindOther, r.current.name}]
	}
	says := func(word string) bool { return slices.Contains(words, word) }
	if says("next event") {
		r.report(ctx, err)
		return r.current
	}
	r.current.stream.close() // before OnError, which may take its time
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
		next = backingOff(r.wait(err), next)
	}
	return next
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

// fail keeps and reports an error of a list or watch.
func (r *Reflector[T]) fail(ctx context.Context, err error) {
	what := map[State]string{ListingStreaming: "stream the list", ListingPaged: "list"}[r.current.name]
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
