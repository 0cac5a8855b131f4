package ingress

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// maxMessage is the greatest length of an Event's message, in bytes, that the API server accepts.
const maxMessage = 1024

// warn emits a Warning Event, unless the last one for this UID was the same.
func (l *attempt) warn(ctx context.Context, problem *invalidError) {
	if l.mem.warned == *problem {
		return
	}
	l.mem.warned = *problem
	l.outcome = "warned: " + problem.reason
	klog.FromContext(ctx).Info("Service asks for an Ingress that it cannot get",
		"service", klog.KObj(l.svc), "reason", problem.reason, "message", problem.message)
	l.events.Event(l.svc, corev1.EventTypeWarning, problem.reason, cut(problem.message))
}

// cut shortens a message to what an Event may carry, between two characters.
func cut(message string) string {
	return strings.ToValidUTF8(message[:min(len(message), maxMessage)], "")
}

// reportContest emits one Warning Event for as long as the Service lives.
func (l *attempt) reportContest() {
	if l.mem.contested {
		return
	}
	l.mem.contested = true
	what := "changing"
	if l.ing == nil {
		what = "deleting"
	}
	l.events.Event(l.svc, corev1.EventTypeWarning, ReasonContested, fmt.Sprintf(
		"somebody keeps %s Ingress %s; it is put right ever more slowly, at last every %s", what, klog.KObj(l.svc), contestCap))
}
