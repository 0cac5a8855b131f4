// Package observe is the vocabulary in which the layers report what passes. Reflector, informer and controller have an
// Options.Observe, nil by default. Each call is given what happened at one step: one Observation, or one for each change
// of a batch. There is always at least one.
//
//	reflector   Entered     Decoded ─▶ Handed ─┐
//	informer    ┌──────────────────────────────┘
//	            └▶ Popped ─▶ Stored ─▶ Called ─▶ Returned
//	controller     Queued ─▶ Taken ─▶ Reconciled ─▶ Forgotten or PutOff
//
// The calls come in the order in which things happened, per object. An observer may block: each layer says, at its
// Options.Observe or in its doc.go, what waits then, and which locks are held.
package observe

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Step is a boundary that a change passes.
type Step string

const (
	// Entered: the reflector is in the state that Kind names, and has not acted on it yet.
	Entered Step = "state"
	// Decoded: events came out of the reflector's stream. Paged lists have none.
	Decoded Step = "decoded"
	// Handed: the method of the sink that Kind names is called next.
	Handed Step = "handed"
	// Popped: the informer's consumer has taken a batch from the queue. Kind is the delta's type.
	Popped Step = "popped"
	// Stored: the batch is in the store, and not yet in the handlers' backlogs. Kind is "stored", "replaced", "removed"
	// or "was not there". An empty list and a bookmark are not reported.
	Stored Step = "stored"
	// Called: the method of the handler that Kind names is about to be called.
	Called Step = "called"
	// Returned: the handler has returned. It does not come after a panic.
	Returned Step = "returned"
	// Queued: a key is about to enter a controller's queue. Kind is "Add", or "AddAfter" if there is a Delay. While the queue drains it refuses keys,
	// and neither Queued nor PutOff is reported. (A key that is just being reported may be refused.)
	Queued Step = "queued"
	// Taken: a worker has taken the key by Get, the Kind, and is about to reconcile it.
	Taken Step = "taken"
	// Reconciled: the reconcile has returned Err. Kind is "ok" or "failed".
	Reconciled Step = "reconciled"
	// Forgotten: the rate limiter has dropped the key's count of retries. Kind is "Forget".
	Forgotten Step = "forgotten"
	// PutOff: the key is about to enter the queue again, to be due after Delay.
	PutOff Step = "putoff"
)

// Observation is one change of one object, or one key, at one step. What has no key is about all objects: a state, a
// bookmark, an empty list. The reflector begins each list with such a one, which has the list's version.
type Observation[K comparable] struct {
	Step    Step
	From    string // the name of the reflector, informer or controller
	Kind    string // what happens at the step, in words of the layer: see the steps
	Key     K
	Version string // of the object, or of the bookmark or list; "" if unknown

	// Obj is the object, for a deletion its last version; Old is the version that it takes the place of. Both are for
	// reading only, and may be nil. Only an informer reports them.
	Obj, Old metav1.Object
	// IsInInitialList: it counts towards the sync. FinalStateUnknown: nobody saw the deletion.
	IsInInitialList, FinalStateUnknown bool

	Handler string        // of Called and Returned: its name
	Delay   time.Duration // of Queued and PutOff; 0 is at once
	Err     error         // of Reconciled; nil is success
}
