package reflector

import (
	"context"
	"fmt"
	"time"

	"glasswatch/listwatch"
)

// State is what a reflector is doing.
type State uint8

// Each state, what ends it, and which state follows then. After an error it is the one that the table in errors.go names.
// Stopped follows any state once the context of Run is cancelled.
const (
	// Idle ends with the first Run: with [Options.ResumeFrom] Connecting follows, else a list.
	Idle State = iota
	// ListingStreaming waits for a streaming list and gathers its initial events. It ends with the bookmark that follows
	// the last of them: the sink gets the list, and the same stream goes on in Watching. Or with an error.
	ListingStreaming
	// ListingPaged fetches a list, page by page. It ends with the last page: the sink gets the list, and Connecting
	// follows. Or with an error.
	ListingPaged
	// Connecting asks for a watch from the last resourceVersion on. It ends with the answer: Watching follows. Or with an
	// error.
	Connecting
	// Watching gives the sink, in each step, the events that have come. It ends with an error only. The end of the stream
	// is one: usually Connecting follows.
	Watching
	// BackingOff waits after an error. It ends when the time is up: the state that was chosen before the wait follows.
	BackingOff
	// Stopped ends with the next Run: a list follows.
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
