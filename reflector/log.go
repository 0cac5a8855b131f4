package reflector

import (
	"context"
	"errors"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// What is logged goes through the logger in Run's context. It has client-go's keys and levels, so that one reads the
// logs of both alike. The resync period is missing: resyncs are the informer's.

// LogError is the default of Options.OnError: it logs err under the reflector's name, at V(1) to V(4) if it heals by
// itself. A request without an answer, and a 5xx, may not: an address, a certificate or a proxy may be wrong.
func LogError(ctx context.Context, name string, err error) {
	logger := klog.FromContext(ctx).WithValues("reflector", name)
	kind := kindOf(err)
	_, unanswered := errors.AsType[*url.Error](err)
	_, answered := errors.AsType[*apierrors.StatusError](err)
	if unanswered || (answered && kind == kindOutage) || errors.Is(err, ErrRewound) {
		kind = kindOther
	}
	switch kind {
	case kindExpired:
		logger.V(4).Info("List or watch closed", "err", err)
	case kindBroken:
		logger.V(1).Info("List or watch broke off, another follows", "err", err)
	case kindEnded, kindAhead, kindBusy, kindOutage:
		logger.V(2).Info("List or watch ended, another follows", "err", err)
	case kindShort:
		logger.Info("Watch ended at once, a list follows", "err", err)
	default:
		logger.Error(err, "Failed to list, to watch or to take over an object")
	}
}

func logTransition(ctx context.Context, name string, from, to State) {
	logger := klog.FromContext(ctx)
	say := func(level int, message string) { logger.V(level).Info(message, "reflector", name) }
	if from == Idle || from == Stopped {
		say(3, "Starting reflector")
	}
	if isListing(from) && (to == Connecting || to == Watching) {
		say(2, "Caches populated")
	}
	switch {
	case isListing(to) && !isListing(from):
		say(3, "Listing and watching")
	case to == Stopped:
		say(3, "Stopping reflector")
	}
}

func isListing(s State) bool { return s == ListingStreaming || s == ListingPaged }

// logUnsupported logs that the server does not serve streaming lists, which is no error.
func logUnsupported(ctx context.Context, name string, err error) {
	klog.FromContext(ctx).V(4).Info("No streaming list, a paged one follows", "reflector", name, "err", err)
}

// logInitialEvents logs that a streaming list is complete.
func logInitialEvents(ctx context.Context, name string, events int, took time.Duration) {
	klog.FromContext(ctx).V(4).Info("Initial events are complete", "reflector", name,
		"totalItems", events, "duration", took)
}

// logEnd logs that a watch ended well, after so many events and bookmarks.
func logEnd(ctx context.Context, name string, events int) {
	klog.FromContext(ctx).V(4).Info("Watch close", "reflector", name, "totalItems", events)
}
