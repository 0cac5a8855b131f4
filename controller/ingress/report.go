package ingress

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// maxMessage is the greatest length of an Event's message, in bytes, that the API server accepts.
const maxMessage = 1024

// warnAgain is the time after which a problem that lasts is told again: the API server keeps Events for an hour.
const warnAgain = time.Hour

// warn emits a Warning Event, unless last, the last one of its sort for this UID, was the same and the API server still has
// it. One attempt may warn of what is asked for, and of a write that is refused.
func (l *attempt) warn(ctx context.Context, last *warning, problem *invalidError) {
	l.warned = true
	now := time.Now()
	if last.problem == *problem && now.Sub(last.at) < warnAgain {
		return
	}
	*last = warning{*problem, now}
	l.outcome = "warned: " + problem.reason
	klog.FromContext(ctx).Info("Service asks for an Ingress that it cannot get",
		"service", klog.KObj(l.svc), "reason", problem.reason, "message", problem.message)
	l.events.Event(l.svc, corev1.EventTypeWarning, problem.reason, cut(problem.message))
}

// isWell forgets the last Warning, unless this attempt had one: a problem that comes back is told again.
func (l *attempt) isWell() {
	l.mem.forbiddenSince = time.Time{}
	if !l.warned {
		l.mem.asked = warning{}
		l.mem.refused = warning{}
	}
}

// cut shortens a message to what an Event may carry, between two characters.
func cut(message string) string {
	return strings.ToValidUTF8(message[:min(len(message), maxMessage)], "")
}

// reportContest emits a Warning Event, unless the API server still has the last one.
func (l *attempt) reportContest() {
	now := time.Now()
	if now.Sub(l.mem.contestedAt) < warnAgain {
		return
	}
	l.mem.contestedAt = now
	what := "changing"
	if l.ing == nil {
		what = "deleting"
	}
	l.events.Event(l.svc, corev1.EventTypeWarning, ReasonContested, fmt.Sprintf(
		"somebody keeps %s Ingress %s; it is put right ever more slowly, at last every %s", what, klog.KObj(l.svc), contestCap))
}
