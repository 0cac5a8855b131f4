package cache

import (
	"time"

	"k8s.io/utils/clock"
)

// retryWithDeadline is a spell of retryable errors, and how long it may last. It is not safe for concurrent use.
type retryWithDeadline struct {
	longest     time.Duration // of a spell
	quiet       time.Duration // without a retryable error, after which the next one begins a spell
	isRetryable func(error) bool
	clock       clock.Clock

	first, last time.Time // error of the spell; zero if there is none
}

// NewRetryWithDeadline returns a RetryWithDeadline that allows retries until maxRetryDuration after the first retryable
// error of a spell, which After is told of. A spell is over when minResetPeriod passes without one, or when its time is up.
// Without a spell there are no retries; nor are there if maxRetryDuration is not above 0.
func NewRetryWithDeadline(maxRetryDuration, minResetPeriod time.Duration, isRetryable func(error) bool, clock clock.Clock) RetryWithDeadline {
	return &retryWithDeadline{longest: maxRetryDuration, quiet: minResetPeriod, isRetryable: isRetryable, clock: clock}
}

// After says that there was an error.
func (r *retryWithDeadline) After(err error) {
	if !r.isRetryable(err) {
		return
	}
	now := r.clock.Now()
	if r.first.IsZero() || now.Sub(r.last) >= r.quiet {
		r.first = now
	}
	r.last = now
}

// ShouldRetry tells whether the spell may go on, and ends it if not.
func (r *retryWithDeadline) ShouldRetry() bool {
	if r.longest <= 0 {
		return false
	}
	if r.clock.Now().Sub(r.first) <= r.longest {
		return true
	}
	r.first, r.last = time.Time{}, time.Time{}
	return false
}
