package cache

import (
	"time"

	"k8s.io/utils/clock"
)

// retryWithDeadline tracks a series of retryable errors, and limits its length in time. It is not safe for concurrent
// use.
type retryWithDeadline struct {
	longest     time.Duration // of a series
	quiet       time.Duration // without a retryable error, after which the next one begins a series
	isRetryable func(error) bool
	clock       clock.Clock

	first, last time.Time // error of the series; zero if there is none
}

// NewRetryWithDeadline returns a RetryWithDeadline. It allows retries until maxRetryDuration after a series' first
// retryable error; After notes an error. A series ends after minResetPeriod without an error, or at the deadline.
// Without a series, or if maxRetryDuration is not above 0, there are no retries.
func NewRetryWithDeadline(maxRetryDuration, minResetPeriod time.Duration, isRetryable func(error) bool, clock clock.Clock) RetryWithDeadline {
	return &retryWithDeadline{longest: maxRetryDuration, quiet: minResetPeriod, isRetryable: isRetryable, clock: clock}
}

// After notes an error.
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

// ShouldRetry tells whether the series may go on, and ends it if not.
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
