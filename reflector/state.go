package reflector

import (
	"context"
	"fmt"
	"time"

	"glasswatch/listwatch"
)

// State is what a reflector is doing. What ends a state, and which follows:
//
//	Idle              the first Run                   a listing state, or with Options.ResumeFrom Connecting
//	ListingStreaming  the end of the initial events   Watching, on the same stream
//	ListingPaged      the last page                   Connecting
//	Connecting        the server's answer             Watching
//	Watching          only an error: io.EOF is one    usually Connecting
//	BackingOff        the time is up                  the state that was chosen before the wait
//	Stopped           the next Run                    a listing state
//
// An error can end any of the four states in which something is asked of the server. The table in errors.go says which
// state follows then. Stopped follows any state once the context of Run is cancelled.
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

func (s State) isListing() bool { return s == ListingStreaming || s == ListingPaged }

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

// stateFor is the state of that name, or what takes its place. Only a watch from a known version tells what was deleted
// meanwhile: without one a list comes first. A list is a paged one while streaming lists are not tried.
func (r *Reflector[T]) stateFor(name State) *state[T] {
	if name == Connecting && !isKnown(r.version) {
		name = ListingStreaming
	}
	if name == ListingStreaming && (r.opts.DisableStreamingList || time.Now().Before(r.pagedUntil)) {
		name = ListingPaged
	}
	return r.newState(name)
}

// newState is the state of that name, from its beginning.
func (r *Reflector[T]) newState(name State) *state[T] {
	steps := map[State]func(ctx context.Context) *state[T]{
		ListingStreaming: r.openList,
		ListingPaged:     r.listPaged,
		Connecting:       r.connect,
	}
	return &state[T]{name: name, step: steps[name]}
}

// backingOff waits, and goes on to next.
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

func stopped[T listwatch.Object]() *state[T] { return &state[T]{name: Stopped} }
