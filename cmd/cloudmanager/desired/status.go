package desired

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
)

// Reasons of Events and of conditions.
const (
	ReasonCreated      = "Created" // of Events about a write that changed something
	ReasonUpdated      = "Updated"
	ReasonDeleted      = "Deleted"
	ReasonExists       = "ErrResourceExists" // of the condition Reconciled, and of Warning Events
	ReasonInvalid      = "InvalidSpec"
	ReasonUnchangeable = "FieldUnchangeable"
	ReasonRejected     = "Rejected"
	ReasonReconciled   = "AsAsked"
	ReasonReady        = "AllReady" // of the condition Ready
	ReasonNotReady     = "NotReady" // the stage's name comes before it, as in FrontNotReady
	ReasonPending      = "WaitsForDeletion"
)

// Message is that of a Normal Event, such as: Created deployment "ake-front". Its first word is the reason.
func Message(reason, kind, name string) string { return fmt.Sprintf("%s %s %q", reason, kind, name) }

// Problem is what keeps something from being done. Deleting and NotReady pass by themselves; the others do not.
type Problem struct{ Reason, Message string }

// Exists: the name of a child is taken.
func Exists(kind, name string) Problem {
	const what = "%s %q exists and is not controlled by this CloudManager; it is left alone"
	return Problem{ReasonExists, fmt.Sprintf(what, kind, name)}
}

// Invalid: Validate returned an error.
func Invalid(err error) Problem { return Problem{ReasonInvalid, err.Error()} }

// Rejected: the API server refuses a write as invalid. Its message may contain values, so a Secret's is left out.
func Rejected(kind, name string, err error) Problem {
	why := err.Error()
	if kind == "secret" {
		why = string(apierrors.ReasonForError(err))
	}
	return Problem{ReasonRejected, fmt.Sprintf("%s %q: %s", kind, name, why)}
}

// Deleting: a child, or one of an earlier CloudManager of the same name, is about to go.
func Deleting(kind, name string) Problem {
	return Problem{ReasonPending, fmt.Sprintf("%s %q is being deleted", kind, name)}
}

// NotReady: the gate of a stage is closed. why comes from Open.
func NotReady(stage, why string) Problem { return Problem{stage + ReasonNotReady, why} }

// Finding is what one pass over the stages came to. Its zero value: everything is there and ready.
type Finding struct {
	Closed   *Problem  // why the pass ended before the last gate; nil if it did not
	Problems []Problem // what is asked for and cannot be done; if Closed is one of them, nothing goes on by itself
}

// Stop returns the finding of a pass that p ended.
func (f Finding) Stop(p Problem) Finding {
	f.Closed = &p
	if p.Reason != ReasonPending && !strings.HasSuffix(p.Reason, ReasonNotReady) {
		f.Problems = append(f.Problems, p)
	}
	return f
}

// Status returns the status of cm after a pass. It equals the present one if nothing changed.
func Status(cm *v1.CloudManager, f Finding) v1.CloudManagerStatus {
	status := *cm.Status.DeepCopy()
	status.ObservedGeneration = cm.Generation
	status.Phase = v1.PhaseRunning
	ready := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonReady,
		Message: "all is ready"}
	if f.Closed != nil {
		status.Phase = v1.PhaseCreating
		if slices.Contains(f.Problems, *f.Closed) {
			status.Phase = v1.PhaseBlocked
		}
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, f.Closed.Reason, f.Closed.Message
	}
	done := metav1.Condition{Type: v1.ConditionReconciled, Status: metav1.ConditionTrue, Reason: ReasonReconciled}
	if len(f.Problems) > 0 {
		var messages []string
		for _, p := range f.Problems {
			messages = append(messages, p.Message)
		}
		done.Status, done.Reason = metav1.ConditionFalse, f.Problems[0].Reason
		done.Message = strings.Join(messages, "; ")
	}
	for _, c := range []metav1.Condition{ready, done} {
		c.ObservedGeneration, c.Message = cm.Generation, clipped(c.Message)
		meta.SetStatusCondition(&status.Conditions, c)
	}
	return status
}

// clipped fits a message into an Event, which may have 1,024 bytes; a condition may have 32,768.
func clipped(message string) string {
	const limit, more = 1024, "…"
	if len(message) > limit {
		message = strings.ToValidUTF8(message[:limit-len(more)], "") + more
	}
	return message
}

// Warning returns the Warning Event that a change of the status calls for, if any: one for each new problem. The
// status itself is what remembers which were reported, so a restart reports none again.
func Warning(before, after v1.CloudManagerStatus) (p Problem, ok bool) {
	was := meta.FindStatusCondition(before.Conditions, v1.ConditionReconciled)
	is := meta.FindStatusCondition(after.Conditions, v1.ConditionReconciled)
	if is == nil || is.Status != metav1.ConditionFalse {
		return Problem{}, false
	}
	p = Problem{is.Reason, is.Message}
	return p, was == nil || p != Problem{was.Reason, was.Message}
}
