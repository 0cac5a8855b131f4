package controller

import (
	"cmp"
	"time"

	"glasswatch/observe"
	"glasswatch/workqueue"
	"glasswatch/workqueue/limiters"
)

// Options configure a [Controller]. The zero value is useful.
type Options[K comparable] struct {
	// Name is in every log line and metric; empty means "controller". Controllers that share a Registerer need
	// different names.
	Name string
	// Workers is how many keys are reconciled at a time; 0 means 1.
	Workers int
	// BaseDelay is how long a key waits after its first failure. The delay doubles with each further failure, up to
	// MaxDelay. 0 means 5 ms and five minutes.
	BaseDelay, MaxDelay time.Duration
	// RateLimiter decides how long a failed key waits. BaseDelay and MaxDelay are then not used.
	RateLimiter workqueue.RateLimiter[K]
	// MaxRetries is how often a key is retried before it is dropped; 0 means without limit. A dropped key is
	// reconciled again when it is enqueued again. The retries are counted by the RateLimiter's NumRequeues, so
	// MaxRetries has no effect with a limiter that does not count.
	MaxRetries int
	// DrainTimeout is how long Run continues to reconcile queued keys after its context was cancelled. Then it cancels
	// the context of the reconciles. 0 means 10 s. Below 0 it cancels at once: nothing is drained.
	DrainTimeout time.Duration
	// Metrics counts and measures, for the controller and its queue; nil means no metrics.
	Metrics Metrics
	// Observe, if not nil, is called for each step of each key, from many goroutines and with no lock held. doc.go says
	// what waits while it blocks.
	Observe func([]observe.Observation[K])
}

// LowPriority is the priority of keys that can wait: those of an initial list or of a resync. Live changes have 0.
const LowPriority = -100

func (o *Options[K]) setDefaults() {
	o.Name = cmp.Or(o.Name, "controller")
	o.Workers = max(o.Workers, 1)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 10*time.Second)
	o.BaseDelay = cmp.Or(o.BaseDelay, 5*time.Millisecond)
	o.MaxDelay = cmp.Or(o.MaxDelay, 5*time.Minute)
	if o.RateLimiter == nil {
		o.RateLimiter = limiters.NewItemExponentialFailureRateLimiter[K](o.BaseDelay, o.MaxDelay)
	}
}
