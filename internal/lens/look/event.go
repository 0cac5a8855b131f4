package look

import (
	"glasswatch/listwatch"
	"glasswatch/observe"
)

// Boundary is a place that an event passes. PROTOCOL.md says who reports it.
type Boundary string

// The boundaries, in the order in which one change passes them.
const (
	Sent       Boundary = "sent"
	Request    Boundary = "request"
	State      Boundary = "state"
	Decoded    Boundary = "decoded"
	Handed     Boundary = "handed"
	Popped     Boundary = "popped"
	Stored     Boundary = "stored"
	Called     Boundary = "called"
	Returned   Boundary = "returned"
	Queued     Boundary = "queued"
	Taken      Boundary = "taken"
	Decided    Boundary = "decided" // only by a reconciler that reports what it has done
	Reconciled Boundary = "reconciled"
	Written    Boundary = "written"
	Forgotten  Boundary = "forgotten"
	PutOff     Boundary = "putoff"
)

// Boundaries has them in that order.
var Boundaries = []Boundary{
	Sent, Request, State, Decoded, Handed, Popped, Stored, Called, Returned, Queued, Taken, Written, Decided,
	Reconciled, Forgotten, PutOff,
}

// layers are the packages that report.
var layers = map[Boundary]string{
	Request: "listwatch", Decoded: "listwatch", State: "reflector", Handed: "reflector", Popped: "deltafifo",
	Stored: "indexer", Called: "sharedinformer", Returned: "sharedinformer", Queued: "workqueue", Taken: "workqueue",
	Forgotten: "workqueue", PutOff: "workqueue", Written: "controller", Decided: "controller", Reconciled: "controller",
}

// Layer is the layer that a boundary belongs to; "" is none.
func (b Boundary) Layer() string { return layers[b] }

// Event is one object, or one bare key, at one boundary. It has nothing else of the object: values of Secrets and of
// everything else stay where they are.
type Event struct {
	Seq       uint64   `json:"seq"` // counts from 1
	Micros    int64    `json:"us"`  // since the world began
	At        Boundary `json:"at"`
	Kind      string   `json:"kind,omitempty"`
	Key       string   `json:"key,omitempty"` // namespace/name, or name at cluster scope
	Action    string   `json:"action,omitempty"`
	RV        string   `json:"rv,omitempty"`
	Old       string   `json:"old,omitempty"` // the resourceVersion that was replaced
	Handler   string   `json:"handler,omitempty"`
	Code      int      `json:"code,omitempty"` // of an HTTP answer
	Delay     int64    `json:"delay_us,omitempty"`
	Error     string   `json:"error,omitempty"`
	Initial   bool     `json:"initial,omitempty"`
	Tombstone bool     `json:"tombstone,omitempty"`
	Because   []uint64 `json:"because,omitempty"` // set in a journey
	Batch     uint64   `json:"batch,omitempty"`   // the Seq of the first event of the same call of an observer
	N         int      `json:"n,omitempty"`       // how many events that call had, if more than one
}

// isGone: the event is about a deletion. The same version may have been added or updated before.
func (e *Event) isGone() bool {
	switch e.Action {
	case "DELETED", "Delete", "DeleteKey", "Deleted", "removed", "was not there", "OnDelete":
		return true
	}
	return false
}

// isNotable: the stream never leaves the event out.
func (e *Event) isNotable() bool { return e.Key == "" || e.Tombstone || e.Error != "" }

// NameOf writes a key as events have it.
func NameOf(key listwatch.Key) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

// Of turns what a layer reports of objects of a kind into events. A controller's keys have no kind.
func Of(kind string, seen []observe.Observation[listwatch.Key]) []Event {
	events := make([]Event, len(seen))
	for i, o := range seen {
		events[i] = Event{
			At: Boundary(o.Step), Kind: kind, Key: NameOf(o.Key), Action: o.Kind, RV: o.Version, Handler: o.Handler,
			Delay: o.Delay.Microseconds(), Initial: o.IsInInitialList, Tombstone: o.FinalStateUnknown,
		}
		if o.Old != nil {
			events[i].Old = o.Old.GetResourceVersion()
		}
		if o.Err != nil {
			events[i].Error = o.Err.Error()
		}
	}
	return events
}
