package reflector

import (
	"context"
	"math/rand/v2"
	"time"
)

// The defaults of Options and Backoff.
const (
	DefaultSilenceTimeout  = 30 * time.Second
	DefaultMinWatchTimeout = 5 * time.Minute
	DefaultStreamingRetry  = time.Hour
	DefaultPageSize        = 500

	DefaultBackoffBase   = 800 * time.Millisecond
	DefaultBackoffMax    = 30 * time.Second
	DefaultBackoffFactor = 2.0
	DefaultBackoffJitter = 1.0
	DefaultBackoffReset  = 2 * time.Minute
)

// watchGrace is how long after the timeout it asked for a watch is ended from this side, for servers that do not heed it.
const watchGrace = 30 * time.Second

// Options of a Reflector. The zero value is useful.
type Options struct {
	// Name is used in logs and errors. Default: the Go type of the objects.
	Name string

	// PageSize is the limit of every paged list, 0 to follow client-go's rule: pages of DefaultPageSize, except at a known
	// resourceVersion, which is asked for whole, so that the server may answer from its watch cache.
	PageSize int64
	// DisableStreamingList makes every list a paged one.
	DisableStreamingList bool
	// SilenceTimeout is how long a streaming list may go without an event about an object before a paged list takes its
	// place. The time until the server answers counts, the total time does not. Default DefaultSilenceTimeout.
	SilenceTimeout time.Duration
	// StreamingRetry is how long lists stay paged after the server refused a streaming list, fell silent in one that it had
	// answered, or sent a wrong one. Default DefaultStreamingRetry.
	StreamingRetry time.Duration
	// CheckConsistency compares each streaming list with a list at the same version, before the sink gets it. It doubles
	// the load on the server: it is for tests.
	CheckConsistency bool
	// ResumeFrom is the resourceVersion at which the sink is already equal to the server. The first Run then starts
	// with a watch from there instead of a list.
	ResumeFrom string

	// ResyncPeriod is the time from a list, or from one Resync of the sink, to the next Resync; 0 for never.
	ResyncPeriod time.Duration
	// ShouldResync is asked each time whether to resync; nil means yes. It is called from the resync goroutine.
	ShouldResync func() bool

	// MinWatchTimeout is the least time after which the server is to end a watch, in whole seconds: each gets a random
	// one in [MinWatchTimeout, 2·MinWatchTimeout). Default DefaultMinWatchTimeout.
	MinWatchTimeout time.Duration
	// MaxInternalErrorRetry is how long 500 InternalErrors of a watch are answered by another watch from the same
	// resourceVersion; then, and by default, by a list. A minute without one starts the time anew.
	MaxInternalErrorRetry time.Duration
	// Backoff is the wait after an error. A Retry-After of the server counts if it is longer.
	Backoff Backoff
	// Delay, if not nil, takes the place of Backoff: it returns the next wait. It is called from Run's goroutine.
	Delay func() time.Duration

	// OnError is told of each error of a list or watch, of each *listwatch.ObjectError and of each *SinkError; a clean
	// end of a watch is none. nil logs them through the logger in ctx. It is called from Run's goroutine, for a Resync
	// also from the resync goroutine, and holds them up.
	OnError func(ctx context.Context, err error)
	// OnTransition is called, if not nil, in Run's goroutine on each change of the state, before the state is acted on.
	OnTransition func(from, to State)
	// OnList is told, if not nil, of each complete list, before the sink is given it: how many objects, and how long the list
	// took, without what was tried before it.
	OnList func(objects int, took time.Duration)
	// OnWatch is told, if not nil, of each watch that has ended, the second half of a streaming list among them: how many
	// objects it passed on, and how long it took from the server's answer, or the end of the list. Both are called from Run's
	// goroutine.
	OnWatch func(events int, took time.Duration)
}

// withDefaults fills in what is zero.
func (o Options) withDefaults(name string) Options {
	if o.Name == "" {
		o.Name = name
	}
	if o.SilenceTimeout <= 0 {
		o.SilenceTimeout = DefaultSilenceTimeout
	}
	if o.StreamingRetry <= 0 {
		o.StreamingRetry = DefaultStreamingRetry
	}
	if o.MinWatchTimeout <= 0 {
		o.MinWatchTimeout = DefaultMinWatchTimeout
	}
	o.Backoff = o.Backoff.withDefaults()
	return o
}

// watchTimeout spreads the ends of watches, so that informers started together do not reconnect together for ever.
func (o *Options) watchTimeout() time.Duration {
	spread := time.Duration(rand.Float64() * float64(o.MinWatchTimeout))
	return max((o.MinWatchTimeout + spread).Truncate(time.Second), time.Second)
}
