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

// String returns the constant's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

func isListing(s State) bool { return s == ListingStreaming || s == ListingPaged }

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

// listing is the state that a list starts in.
func (r *Reflector[T]) listing() *state[T] {
	if r.opts.DisableStreamingList || time.Now().Before(r.pagedUntil) {
		return r.listingPaged()
	}
	return r.listingStreaming()
}

func (r *Reflector[T]) listingStreaming() *state[T] {
	return &state[T]{name: ListingStreaming, step: r.openList}
}

func (r *Reflector[T]) listingPaged() *state[T] {
	return &state[T]{name: ListingPaged, step: r.listPaged}
}

func (r *Reflector[T]) connecting() *state[T] {
	return &state[T]{name: Connecting, step: r.connect}
}

// resuming is the state that gets the next watch. Only a watch from a known version tells what was deleted meanwhile. So
// without one a list comes first.
func (r *Reflector[T]) resuming() *state[T] {
	if !isKnown(r.version) {
		return r.listing()
	}
	return r.connecting()
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
