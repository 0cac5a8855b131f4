package reflector

import (
	"context"
	"fmt"
	"time"

	"glasswatch/listwatch"
)

// State is what a reflector is doing. The picture in the package comment shows which leads to which, and the table in
// errors.go says what follows an error.
type State uint8

const (
	Idle             State = iota // before Run
	ListingStreaming              // waits for a streaming list, and gathers its initial events
	ListingPaged                  // fetches a list, page by page, and gives it to the sink
	Connecting                    // asks for a watch from the last resourceVersion on, and waits for the answer
	Watching                      // gives the sink, in each step, the events that have come
	BackingOff                    // waits after an error
	Stopped                       // after Run
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
	// step blocks for one request, some events or one wait, and returns the next state. That is the same pointer if the
	// state goes on. It ends soon after ctx is cancelled.
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
