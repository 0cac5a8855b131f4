package reflector

import "fmt"

// State is what a reflector is doing. The picture in the package comment shows how one leads to the next.
type State uint8

const (
	// Idle is before Run. Run leaves it for ListingStreaming, or for ListingPaged if streaming lists are switched
	// off, or for Connecting if [Options.ResumeFrom] is set.
	Idle State = iota
	// ListingStreaming receives the initial events of a streaming list, one a step. It is left for Watching when a
	// bookmark announces their end. It is left for ListingPaged when the server refuses, ends the stream too early or
	// falls silent, or if an event cannot be read. It is left for BackingOff when the server is overloaded or not
	// there. It starts over without a resourceVersion when the server does not have the one that was asked for.
	ListingStreaming
	// ListingPaged fetches a list, page by page. It is left for Connecting when the sink has the list, and for
	// BackingOff after an error. It starts over without a resourceVersion when the server does not have the one that
	// was asked for.
	ListingPaged
	// Connecting asks for a watch from the last resourceVersion on. It starts over when the server does not answer. It
	// is left for Watching when the server has answered, and for BackingOff after an error.
	Connecting
	// Watching passes on events, in a step those that have arrived. It is left for Connecting when the stream ends or
	// breaks. It is left for BackingOff when the stream ends with an error such as 410 Expired or an HTTP/2 reset,
	// when it ends at once, or when the server was set back to an older state.
	Watching
	// BackingOff waits after an error. It is left for a listing state or for Connecting when the time is up.
	BackingOff
	// Stopped is after Run. Every state is left for it as soon as the context is cancelled. A later Run leaves it for a
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
