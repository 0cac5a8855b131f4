package reflector

import (
	"context"
	"fmt"
	"time"

	"glasswatch/listwatch"
)

// State is what a reflector is doing. The picture in the package comment shows how one leads to the next. The table in
// errors.go says what follows an error.
type State uint8

const (
	// Idle is before Run. Run leaves it for ListingStreaming, or for ListingPaged if streaming lists are switched
	// off, or for Connecting if [Options.ResumeFrom] is set.
	Idle State = iota
	// ListingStreaming receives the initial events of a streaming list, one a step. It is left for Watching when a
	// bookmark announces their end.
	ListingStreaming
	// ListingPaged fetches a list, page by page. It is left for Connecting when the sink has the list.
	ListingPaged
	// Connecting asks for a watch from the last resourceVersion on. It is left for Watching when the server answers. It
	// asks again, and reports nothing, after 2·[Options.MinWatchTimeout] + 30 s without an answer: by default 10.5 min.
	Connecting
	// Watching gives the sink, in each step, the events that have come. It is left for Connecting when the stream ends.
	Watching
	// BackingOff waits after an error. It is left for a listing state or for Connecting when the time is up.
	BackingOff
	// Stopped is after Run. Every state is left for it once the context is cancelled. A later Run leaves it for a
	// listing state.
	Stopped
)

var stateNames = [...]string{
	"Idle", "ListingStreaming", "ListingPaged", "Connecting", "Watching", "BackingOff", "Stopped",
}

// String returns the constant's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// state is what the reflector does at one time. It is made anew each time that the reflector comes to it, and what it
// needs is in its step.
type state[T listwatch.Object] struct {
	name State
	// step blocks for one request, one event or one wait, and returns the next state, which often is the same. It ends
	// soon after ctx is cancelled.
	step func(ctx context.Context) *state[T]
	// stream is open, or nil. It is closed when the state is left for one without it.
	stream *stream[T]
}

func stopped[T listwatch.Object]() *state[T] { return &state[T]{name: Stopped} }

// backingOff is BackingOff: it waits, and goes on to next.
func backingOff[T listwatch.Object](wait time.Duration, next *state[T]) *state[T] {
	return &state[T]{name: BackingOff, step: func(ctx context.Context) *state[T] {
		select {
		case <-ctx.Done():
			return stopped[T]()
		case <-time.After(wait):
			return next
		}
	}}
}
