// Package backoff says how long to wait after a failure: an exponential backoff with jitter, which starts anew after a
// time without failures. And it tells for how long failures have been coming. It is for the reflector. Read it when you
// want to know the figures.
package backoff

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"
)

// DefaultReset is the default of Exponential.ResetAfter.
const DefaultReset = 2 * time.Minute

// Exponential is an exponential backoff with jitter. Zero fields, and negative times, stand for the defaults, which are
// client-go's: waits from 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30 … seconds up to double that.
type Exponential struct {
	Base       time.Duration // the first wait, before jitter. Default: 0.8 seconds.
	Max        time.Duration // the longest wait, before jitter. Default: 30 seconds.
	Factor     float64       // a wait divided by the one before it. Less than 1 counts as 1. Default: 2.
	Jitter     float64       // the greatest part of a wait that is added at random; negative for none. Default: 1.
	ResetAfter time.Duration // the time without a wait after which Base comes again. Default: DefaultReset.
}

// Timer remembers how far the waits have grown. Not safe for concurrent use.
type Timer struct {
	Exponential
	grown time.Duration // the next wait before jitter; 0: Base
	until time.Time     // the end of the last wait
}

// NewTimer returns a timer whose first wait is Base.
func NewTimer(e Exponential) Timer {
	return Timer{Exponential: Exponential{
		Base:       cmp.Or(max(e.Base, 0), 800*time.Millisecond),
		Max:        cmp.Or(max(e.Max, 0), 30*time.Second),
		Factor:     max(cmp.Or(e.Factor, 2), 1),
		Jitter:     max(cmp.Or(e.Jitter, 1), 0),
		ResetAfter: cmp.Or(max(e.ResetAfter, 0), DefaultReset),
	}}
}

// Next returns the next wait, which the caller starts now and which is at least atLeast.
func (t *Timer) Next(now time.Time, atLeast time.Duration) time.Duration {
	if t.grown == 0 || now.Sub(t.until) > t.ResetAfter {
		t.grown = t.Base
	}
	wait := min(t.grown, t.Max)
	t.grown = atMost(t.Max, float64(wait)*t.Factor)
	wait = max(atLeast, atMost(math.MaxInt64, float64(wait)*(1+rand.Float64()*t.Jitter)))
	t.until = now.Add(wait)
	return wait
}

// atMost bounds nanoseconds while they are a float: a float outside a Duration's range may become any Duration.
func atMost(limit time.Duration, nanoseconds float64) time.Duration {
	if nanoseconds < float64(limit) { // false for NaN, too
		return time.Duration(nanoseconds)
	}
	return limit
}

// Window tells for how long failures have been coming: those with less than a minute between them belong together.
// Not safe for concurrent use.
type Window struct {
	first, last time.Time
}

// Note takes down a failure that comes now.
func (w *Window) Note(now time.Time) {
	if now.Sub(w.last) >= time.Minute {
		w.first = now
	}
	w.last = now
}

// Length is the time from the first failure to the last.
func (w *Window) Length() time.Duration { return w.last.Sub(w.first) }
