package reflector

import (
	"context"
	"errors"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// LogError is the default of Options.OnError: it logs err under the reflector's name, at V(2) if that heals by itself. A
// request without an answer, and a 5xx, may not: an address, a certificate or a proxy may be wrong.
func LogError(ctx context.Context, name string, err error) {
	logger := klog.FromContext(ctx).WithValues("reflector", name)
	kind := kindOf(err)
	_, unanswered := errors.AsType[*url.Error](err)
	_, answered := errors.AsType[*apierrors.StatusError](err)
	if unanswered || (answered && kind == kindOutage) || errors.Is(err, ErrRewound) {
		kind = kindOther
	}
	switch kind {
	case kindEnded, kindExpired, kindAhead, kindBusy, kindOutage, kindBroken:
		logger.V(2).Info("List or watch ended, another follows", "err", err)
	default:
		logger.Error(err, "Failed to list, to watch or to take over an object")
	}
}

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
	if from == Watching && to != Stopped {
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
