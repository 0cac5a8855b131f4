package reflector

import (
	"cmp"
	"context"
	"time"

	"glasswatch/listwatch"
	"glasswatch/observe"
	"glasswatch/reflector/backoff"
)

// Backoff is an exponential backoff with jitter. The zero value is client-go's: 0.8 seconds to a minute.
type Backoff = backoff.Exponential

// Options of a Reflector. The zero value is useful.
type Options struct {
	// Name is used in logs and errors. Default: the Go type of the objects.
	Name string
	// Type says in logs what the objects are. Default: their Go type.
	Type string

	// PageSize is the limit of every paged list. 0 follows client-go: 500. But a list at a known version has no limit,
	// unless the server has split a list at "0".
	PageSize int64
	// DisableStreamingList makes every list a paged one.
	DisableStreamingList bool
	// SilenceTimeout is how long the reflector waits in a streaming list for the answer, and then for each next object,
	// of whatever shard. When it is over, a paged list takes its place. Default: 30 seconds.
	SilenceTimeout time.Duration
	// StreamingRetry is how long lists stay paged after the server refused a streaming list (with 400, 405 or 422), fell
	// silent in one that it had answered, or sent an unreadable object in it. Default: an hour.
	StreamingRetry time.Duration
	// ResumeFrom is the resourceVersion, not "0", at which the sink is already equal to the server. The first Run then
	// starts with a watch from there instead of a list.
	ResumeFrom string

	// MinWatchTimeout bounds the timeout of a watch, after which the server is to end it. Each has a random one, in whole
	// seconds, from MinWatchTimeout to twice that. This side ends a watch, answered or not, 30 s after twice that. But an
	// answered one goes on if its stream says that no API server sends it: by a method UnorderedVersions that is true.
	// Default: five minutes.
	MinWatchTimeout time.Duration
	// MaxInternalErrorRetry is how long 500 InternalErrors of a watch are answered by another watch from the same
	// resourceVersion; then, and by default, by a list. A minute without one starts the time anew.
	MaxInternalErrorRetry time.Duration
	// Backoff is the wait after an error. A Retry-After of the server counts if it is longer.
	Backoff Backoff
	// Delay, if not nil, takes the place of Backoff: it returns the next wait.
	Delay func() time.Duration

	// All functions, Delay included, are called from Run's goroutine with no lock held, and hold it up.

	// OnError is told of each error of a list or watch, of each *listwatch.ObjectError and of each *SinkError. Not of
	// what the table in errors.go calls quiet, such as the clean end of a watch that was not very short. nil is [LogError].
	// The logger in ctx has Type.
	OnError func(ctx context.Context, err error)
	// OnTransition, if not nil, is called on each change of the state, before the state is acted on; not after a panic.
	// Stats then has the list or watch that has ended.
	OnTransition func(from, to State)
	// Observe, if not nil, is shown each state once it is entered, events once they are decoded, and what the sink is
	// given next. It may block: what the server sends waits in the connection, and the stream's deadline is put off, as it
	// is not by the other functions and the sink.
	Observe func([]observe.Observation[listwatch.Key])
}

// withDefaults fills in what is zero, or negative.
func (o Options) withDefaults(goType string) Options {
	o.Name = cmp.Or(o.Name, goType)
	o.Type = cmp.Or(o.Type, goType)
	o.SilenceTimeout = cmp.Or(max(o.SilenceTimeout, 0), 30*time.Second)
	o.StreamingRetry = cmp.Or(max(o.StreamingRetry, 0), time.Hour)
	o.MinWatchTimeout = cmp.Or(max(o.MinWatchTimeout, 0), 5*time.Minute)
	return o
}

// watchDeadline is when this side ends a watch that outlasts its timeout.
func (o Options) watchDeadline() time.Duration { return 2*o.MinWatchTimeout + 30*time.Second }
