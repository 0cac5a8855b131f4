package reflector

import (
	"context"

	"k8s.io/klog/v2"
)

// logTransition is the default of Options.OnTransition. Errors are told apart, by OnError.
func logTransition(ctx context.Context, name string, from, to State) {
	logger := klog.FromContext(ctx)
	say := func(level int, message string) { logger.V(level).Info(message, "reflector", name) }
	if from == Idle || from == Stopped {
		say(3, "Starting reflector")
	}
	if isListing(from) && (to == Connecting || to == Watching) {
		say(2, "Caches populated")
	}
	if from == Watching {
		say(4, "Watch closed")
	}
	switch {
	case isListing(to) && !isListing(from):
		say(3, "Listing and watching")
	case to == BackingOff:
		say(4, "Backing off")
	case to == Stopped:
		say(3, "Stopping reflector")
	}
}

func isListing(s State) bool { return s == ListingStreaming || s == ListingPaged }
