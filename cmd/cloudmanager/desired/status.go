package desired

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
)

// Reasons of Events and of conditions.
const (
	ReasonCreated = "Created" // Events about a write that changed something
	ReasonUpdated = "Updated"
	ReasonDeleted = "Deleted"

	ReasonExists       = "ErrResourceExists" // the name of a child is taken; also a Warning Event, as the following are
	ReasonInvalid      = "InvalidSpec"       // Validate returned an error
	ReasonUnchangeable = "FieldUnchangeable" // a field of the StatefulSet cannot change
	ReasonRejected     = "Rejected"          // the API server refuses a write as invalid

	ReasonReady      = "AllReady" // of the condition Ready
	ReasonNotReady   = "NotReady" // a gate is closed; the stage's name comes first, as in FrontNotReady
	ReasonPending    = "WaitsForDeletion"
	ReasonReconciled = "AsAsked" // of the condition Reconciled
)

// Message is that of a Normal Event, such as: Created deployment "ake-front". Its first word is the reason.
func Message(reason, kind, name string) string { return fmt.Sprintf("%s %s %q", reason, kind, name) }

// Problem is what keeps something from being done.
type Problem struct{ Reason, Message string }

// Exists is the problem that a child's name is taken.
func Exists(kind, name string) Problem {
	return Problem{ReasonExists, fmt.Sprintf("%s %q exists and is not controlled by this CloudManager; it is left alone", kind, name)}
}

// Invalid is the problem that a spec makes no sense.
func Invalid(err error) Problem { return Problem{ReasonInvalid, err.Error()} }

// CannotChange is the problem of fields that Unchangeable named.
func CannotChange(name string, fields []string) Problem {
	return Problem{ReasonUnchangeable, fmt.Sprintf("statefulset %q cannot change %s; a new name makes a new database",
		name, strings.Join(fields, ", "))}
}

// Rejected is the problem that the API server refused a write as invalid.
func Rejected(kind, name string, err error) Problem {
	return Problem{ReasonRejected, fmt.Sprintf("%s %q: %v", kind, name, err)}
}

// Deleting says that a child, or one of the same name, is about to go.
func Deleting(kind, name string) Problem {
	return Problem{ReasonPending, fmt.Sprintf("%s %q is being deleted", kind, name)}
}

// NotReady says that the gate of a stage is closed. why comes from Open.
func NotReady(stage, why string) Problem { return Problem{stage + ReasonNotReady, why} }

// Finding is what one pass over the stages came to. Its zero value: everything is there and ready.
type Finding struct {
	Closed   *Problem  // why the pass ended before the last gate; nil if it did not
	Problems []Problem // what is asked for and cannot be done; if Closed is one of them, nothing goes on by itself
}

// Blocked returns f with a problem that ends the pass.
func (f Finding) Blocked(p Problem) Finding {
	f.Closed, f.Problems = &p, append(f.Problems, p)
	return f
}

// Status returns the status of cm after a pass. It equals the present one if nothing changed.
func Status(cm *v1.CloudManager, f Finding) v1.CloudManagerStatus {
	status := *cm.Status.DeepCopy()
	status.ObservedGeneration = cm.Generation
	status.Phase = v1.PhaseRunning
	ready := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonReady, Message: "everything is ready"}
	if f.Closed != nil {
		status.Phase = v1.PhaseCreating
		if slices.Contains(f.Problems, *f.Closed) {
			status.Phase = v1.PhaseBlocked
		}
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, f.Closed.Reason, f.Closed.Message
	}
	done := metav1.Condition{Type: v1.ConditionReconciled, Status: metav1.ConditionTrue, Reason: ReasonReconciled,
		Message: "nothing is in the way"}
	if len(f.Problems) > 0 {
		messages := make([]string, len(f.Problems))
		for i, p := range f.Problems {
			messages[i] = p.Message
		}
		done.Status, done.Reason, done.Message = metav1.ConditionFalse, f.Problems[0].Reason, strings.Join(messages, "; ")
	}
	for _, c := range []metav1.Condition{ready, done} {
		c.ObservedGeneration = cm.Generation
		meta.SetStatusCondition(&status.Conditions, c)
	}
	return status
}

// Warning returns the Warning Event that a change of the status calls for, if any: one for each new problem. The
// status itself is what remembers which were reported, so a restart reports none again.
func Warning(before, after v1.CloudManagerStatus) (p Problem, ok bool) {
	was := meta.FindStatusCondition(before.Conditions, v1.ConditionReconciled)
	is := meta.FindStatusCondition(after.Conditions, v1.ConditionReconciled)
	if is == nil || is.Status != metav1.ConditionFalse || was != nil && was.Reason == is.Reason && was.Message == is.Message {
		return Problem{}, false
	}
	return Problem{is.Reason, is.Message}, true
}
