package reflector

import "fmt"

// State is what a reflector is doing. The picture in the package comment shows how one leads to the next.
type State uint8

const (
	// Idle is before Run. Left by Run for ListingStreaming, or ListingPaged if streaming lists are switched off, or
	// Connecting if [Options.ResumeFrom] is set.
	Idle State = iota
	// ListingStreaming receives the initial events of a streaming list, one a step. Left for Watching when their end is
	// announced; for ListingPaged when the server refuses, ends the stream too early or falls silent; for BackingOff when
	// it is overloaded or not there. It starts over without a resourceVersion when the server does not have the one that
	// was asked for.
	ListingStreaming
	// ListingPaged fetches a list, one page a step. Left for Connecting when the last page is there and the sink has
	// the list; for BackingOff after an error, or once if an item does not tell its name. It starts over without a
	// resourceVersion when the server does not have the one that was asked for.
	ListingPaged
	// Connecting asks for a watch from the last resourceVersion on, again and again if the server does not answer within
	// the watch's timeout. Left for Watching when it has answered; for BackingOff after an error.
	Connecting
	// Watching passes on events, in a step those that have arrived. Left for Connecting when the stream ends or breaks; for
	// BackingOff when the server ended it with an error such as 410 Expired, or at once, or was set back to an older state.
	Watching
	// BackingOff waits after an error. Left for one of the listing states or Connecting when the time is up.
	BackingOff
	// Stopped is after Run. Every state is left for it as soon as the context is cancelled. A later Run leaves it like
	// Idle.
	Stopped
)

var stateNames = [...]string{"Idle", "ListingStreaming", "ListingPaged", "Connecting", "Watching", "BackingOff", "Stopped"}

// String returns the constant's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}
