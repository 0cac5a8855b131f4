package reflector

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Backoff is an exponential backoff with jitter. Zero fields, and negative times, stand for the defaults, which are
// client-go's: waits from 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30 … seconds up to double that.
type Backoff struct {
	Base       time.Duration // the first wait, before jitter. Default: 0.8 seconds.
	Max        time.Duration // the longest wait, before jitter. Default: 30 seconds.
	Factor     float64       // a wait divided by the one before it. Less than 1 counts as 1. Default: 2.
	Jitter     float64       // the greatest part of a wait that is added at random; negative for none. Default: 1.
	ResetAfter time.Duration // the time without a wait after which Base comes again. Default: DefaultBackoffReset.
}

func (b Backoff) withDefaults() Backoff {
	return Backoff{
		Base:       cmp.Or(max(b.Base, 0), 800*time.Millisecond),
		Max:        cmp.Or(max(b.Max, 0), 30*time.Second),
		Factor:     max(cmp.Or(b.Factor, 2), 1),
		Jitter:     max(cmp.Or(b.Jitter, 1), 0),
		ResetAfter: cmp.Or(max(b.ResetAfter, 0), DefaultBackoffReset),
	}
}

// backoffTimer remembers how far the waits have grown. Not safe for concurrent use.
type backoffTimer struct {
	Backoff
	grown time.Duration // the next wait before jitter; 0: Base
	until time.Time     // the end of the last wait
}

// next returns the next wait, which the caller starts now and which is at least atLeast.
func (b *backoffTimer) next(now time.Time, atLeast time.Duration) time.Duration {
	if b.grown == 0 || now.Sub(b.until) > b.ResetAfter {
		b.grown = b.Base
	}
	wait := min(b.grown, b.Max)
	b.grown = atMost(b.Max, float64(wait)*b.Factor)
	wait = max(atLeast, atMost(math.MaxInt64, float64(wait)*(1+rand.Float64()*b.Jitter)))
	b.until = now.Add(wait)
	return wait
}

// atMost bounds nanoseconds while they are a float: a float outside a Duration's range may become any Duration.
func atMost(limit time.Duration, nanoseconds float64) time.Duration {
	if nanoseconds < float64(limit) { // false for NaN, too
		return time.Duration(nanoseconds)
	}
	return limit
}

// backOff plans the wait after err. next is what comes after it.
func (r *Reflector[T]) backOff(err error, next *state[T]) *state[T] {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	retryAfter := time.Duration(seconds) * time.Second
	if r.opts.Delay != nil {
		return backingOff(max(r.opts.Delay(), retryAfter), next)
	}
	return backingOff(r.backoff.next(time.Now(), retryAfter), next)
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
