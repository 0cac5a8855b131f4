package reflector

import (
	"cmp"
	"context"
	"errors"
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

// reactions is the table, read when the program starts.
var reactions = parse(table)

// reaction is what a cell says. The zero value is "-". A kind without a row has it in every state.
type reaction struct {
	limit                        string // one of the three; "" for none
	next                         string // "next event", "watch", "list" or "paged"
	forLong, latest, wait, quiet bool
}

// follow does what the table says of an error in the present state, and returns the next state. asked is the
// resourceVersion that the request was for.
func (r *Reflector[T]) follow(ctx context.Context, kind errorKind, asked string, err error) *state[T] {
	if ctx.Err() != nil {
		return stopped[T]()
	}
	here := r.current.name
	does := reactions[kind][here]
	exceeded := r.countTowards(does.limit, asked)
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
func (r *Reflector[T]) countTowards(limit, asked string) bool {
	switch limit {
	case "once":
		return asked == latestVersion
	case "9 times":
		r.outages++
		return r.outages > 9
	case "a while":
		return r.internal.Exceeds(r.opts.MaxInternalErrorRetry, time.Now())
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
	if _, ok := errors.AsType[*SinkError](err); ok {
		count = &r.stats.SinkErrors
	} else if kindOf(err) == kindObject {
		count = &r.stats.ObjectErrors
	}
	r.update(func() { *count++ })
	if r.opts.OnError != nil {
		r.opts.OnError(ctx, err)
		return
	}
	LogError(ctx, r.opts.Name, err)
}

// parse reads the table: the first line names the states, and each line after the second begins with a kind. It panics
// unless the row Other, which stands in for all others, says what follows in each state.
func parse(table string) map[errorKind]map[State]reaction {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	header := strings.Split(lines[0], "|") // The first and the last are empty.
	rows := map[errorKind]map[State]reaction{}
	for _, line := range lines[2:] {
		texts := strings.Split(line, "|")
		row := map[State]reaction{}
		for i := 2; i < len(header)-1; i++ {
			state := State(slices.Index(stateNames[:], strings.TrimSpace(header[i])))
			row[state] = parseReaction(strings.TrimSpace(texts[i]))
		}
		rows[errorKind(strings.TrimSpace(texts[1]))] = row
	}
	for state := ListingStreaming; state <= Watching; state++ {
		if rows[kindOther][state].next == "" {
			panic("reflector: the table's row Other does not say what follows in " + state.String())
		}
	}
	return rows
}

// parseReaction reads a cell. It panics if that says what follow does not know.
func parseReaction(text string) reaction {
	var does reaction
	for word := range strings.SplitSeq(text, ", ") {
		switch word {
		case "-":
		case "once", "9 times", "a while":
			does.limit = word
		case "next event", "watch", "list", "paged":
			does.next = word
		case "for long":
			does.forLong = true
		case "latest":
			does.latest = true
		case "wait":
			does.wait = true
		case "quiet":
			does.quiet = true
		default:
			panic("reflector: unknown word in the table: " + word)
		}
	}
	return does
}
