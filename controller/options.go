package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"glasswatch/workqueue"
	"glasswatch/workqueue/limiters"
)

// Options configure a [Controller]. The zero value is useful.
type Options[K comparable] struct {
	// Name is in every log line and metric; empty means "controller". Controllers that share a Registerer need different
	// names.
	Name string
	// Workers is how many keys are reconciled at a time; 0 means 1.
	Workers int
	// BaseDelay is how long a key waits after its first failure, doubled with each other up to MaxDelay. 0 means 5 ms and
	// five minutes.
	BaseDelay, MaxDelay time.Duration
	// RateLimiter decides in place of BaseDelay and MaxDelay how long a key waits that failed.
	RateLimiter workqueue.RateLimiter[K]
	// MaxRetries is how often a key is tried again before it is dropped, until somebody enqueues it; 0 means without limit.
	// It goes by the RateLimiter's NumRequeues, so it has no effect with one that does not count.
	MaxRetries int
	// DrainTimeout is how long Run goes on working on what is queued after its context was cancelled, before it cancels the
	// context of the reconciles that are under way; 0 means 10 s, below 0 not at all.
	DrainTimeout time.Duration
	// Registerer gets the controller's and its queue's metrics; nil means no metrics.
	Registerer prometheus.Registerer
}

// The defaults of [Options].
const (
	DefaultBaseDelay    = 5 * time.Millisecond
	DefaultMaxDelay     = 5 * time.Minute
	DefaultDrainTimeout = 10 * time.Second
)

// LowPriority is for keys that can wait: those of an initial list or of a resync, as opposed to those of live changes,
// whose priority is 0.
const LowPriority = -100

func (o *Options[K]) setDefaults() {
	if o.Name == "" {
		o.Name = "controller"
	}
	o.Workers = max(o.Workers, 1)
	if o.BaseDelay <= 0 {
		o.BaseDelay = DefaultBaseDelay
	}
	if o.MaxDelay <= 0 {
		o.MaxDelay = DefaultMaxDelay
	}
	if o.RateLimiter == nil {
		o.RateLimiter = limiters.NewItemExponentialFailureRateLimiter[K](o.BaseDelay, o.MaxDelay)
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
}
