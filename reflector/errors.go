package reflector

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"glasswatch/reflector/backoff"
)

// table says which state follows an error, by the state that met it and by the kind of the error. The program executes
// it: see follow. In a state, kindOther stands for each kind that is not there, and for one that is beyond its limit.
var table = map[State]map[errorKind]reaction{
	ListingStreaming: {
		kindBusy:         {wait: true, next: ListingStreaming},
		kindExpired:      {limit: unlessLatest, next: ListingStreaming, latest: true},
		kindAhead:        {limit: unlessLatest, next: ListingStreaming, latest: true},
		kindObject:       {next: ListingPaged, forLong: true},
		kindLostDeletion: {next: ListingPaged, forLong: true},
		kindOverdue:      {next: ListingPaged, forLong: true},
		kindUnsupported:  {next: ListingPaged, forLong: true, quiet: true},
		kindOther:        {next: ListingPaged},
	},
	ListingPaged: {
		kindExpired:     {limit: unlessLatest, next: ListingPaged, latest: true},
		kindAhead:       {limit: unlessLatest, next: ListingPaged, latest: true},
		kindUnsupported: {limit: unlessLatest, next: ListingPaged, latest: true},
		kindOther:       {wait: true, next: ListingStreaming},
	},
	Connecting: {
		kindUnanswered: {next: Connecting, quiet: true},
		kindBusy:       {wait: true, next: Connecting},
		kindEnded:      {limit: upTo9Times, wait: true, next: Connecting},
		kindBroken:     {limit: upTo9Times, wait: true, next: Connecting},
		kindOutage:     {limit: upTo9Times, wait: true, next: Connecting},
		kindInternal:   {limit: forAWhile, wait: true, next: Connecting},
		kindExpired:    {wait: true, next: ListingStreaming},
		kindAhead:      {wait: true, next: ListingStreaming, latest: true},
		kindOther:      {wait: true, next: ListingStreaming},
	},
	Watching: {
		kindObject:       {next: Watching},
		kindUnnamed:      {next: Connecting},
		kindLostDeletion: {wait: true, next: ListingStreaming, latest: true},
		kindOverdue:      {next: Connecting, quiet: true},
		kindEnded:        {limit: unlessShort, next: Connecting, quiet: true},
		kindBroken:       {limit: unlessShort, next: Connecting},
		kindBusy:         {wait: true, next: Connecting},
		kindOutage:       {limit: upTo9Times, wait: true, next: Connecting},
		kindInternal:     {limit: forAWhile, wait: true, next: Connecting},
		kindExpired:      {wait: true, next: ListingStreaming},
		kindAhead:        {wait: true, next: ListingStreaming, latest: true},
		kindOther:        {wait: true, next: ListingStreaming},
	},
}

// reaction is what is done about an error.
type reaction struct {
	limit   limit
	wait    bool  // BackingOff comes first. Which state follows it is decided before the wait.
	next    State // what follows, or what takes its place: see stateFor. Watching: the stream goes on.
	latest  bool  // Lists ask for the latest state until one succeeds.
	forLong bool  // Lists stay paged for StreamingRetry.
	quiet   bool  // The error is not reported.
}

type limit uint8

const (
	unlessLatest limit = iota + 1 // unless the list that failed had asked for the latest state already
	upTo9Times                    // in a row, until a watch works again. Perhaps only watches fail, as behind a proxy.
	forAWhile                     // until MaxInternalErrorRetry is over
	unlessShort                   // unless the watch was very short. Perhaps the server has nothing at this resourceVersion.
)

// follow does what the table says of an error in the present state, and returns the next state.
func (r *Reflector[T]) follow(ctx context.Context, err error) *state[T] {
	if ctx.Err() != nil {
		return stopped[T]()
	}
	reactions := table[r.current.name]
	does, expected := reactions[kindOf(err)]
	exceeded := r.countTowards(does.limit)
	if exceeded && does.limit == unlessShort {
		err = fmt.Errorf("%w (%v)", ErrVeryShortWatch, err)
	}
	if exceeded || !expected {
		does = reactions[kindOther]
	}
	if does.next == Watching {
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
	next := r.stateFor(does.next)
	if does.wait {
		next = backingOff(r.wait(err), next)
	}
	return next
}

// countTowards counts an error towards a limit, if there is one, and reports whether that is exceeded.
func (r *Reflector[T]) countTowards(l limit) bool {
	switch l {
	case unlessLatest:
		return r.versionFor(r.current.name) == latestVersion
	case upTo9Times:
		r.outages++
		return r.outages > 9
	case forAWhile:
		r.internal.Note(time.Now())
		exceeded := r.opts.MaxInternalErrorRetry <= 0 || r.internal.Length() > r.opts.MaxInternalErrorRetry
		if exceeded {
			r.internal = backoff.Window{}
		}
		return exceeded
	case unlessShort:
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
