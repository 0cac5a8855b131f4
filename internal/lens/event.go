package lens

import (
	"encoding"
	"fmt"
	"strings"

	"glasswatch/listwatch"
)

// Boundary is a place that an event passes. The constants come in the order in which one change passes them.
type Boundary uint8

// The boundaries. PROTOCOL.md says who reports them.
const (
	Sent Boundary = iota + 1
	Request
	State
	Decoded
	Handed
	Popped
	Stored
	Called
	Returned
	Queued
	Taken
	Reconciled
	Written
	Forgotten
	PutOff
	boundaries // how many there are, and one
)

// boundaryRow is what the page is told of a boundary.
type boundaryRow struct {
	At  string `json:"at"`
	Box string `json:"box"`
}

// boundaryTable has a row for each boundary; the first is none.
var boundaryTable = [boundaries]boundaryRow{
	Sent: {"sent", "apiserver"}, Request: {"request", "listwatch"}, State: {"state", "reflector"},
	Decoded: {"decoded", "listwatch"}, Handed: {"handed", "reflector"}, Popped: {"popped", "deltafifo"},
	Stored: {"stored", "indexer"}, Called: {"called", "handlers"}, Returned: {"returned", "handlers"},
	Queued: {"queued", "workqueue"}, Taken: {"taken", "workqueue"}, Reconciled: {"reconciled", "controller"},
	Written: {"written", "controller"}, Forgotten: {"forgotten", "workqueue"}, PutOff: {"putoff", "workqueue"},
}

// String returns the name on the wire.
func (b Boundary) String() string { return boundaryTable[b].At }

// MarshalText implements encoding.TextMarshaler.
func (b Boundary) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. The empty text is no boundary, the zero value.
func (b *Boundary) UnmarshalText(text []byte) error {
	for i, row := range boundaryTable {
		if row.At == string(text) {
			*b = Boundary(i)
			return nil
		}
	}
	return fmt.Errorf("%q is no boundary", text)
}

// Key is the key of an object, in JSON as namespace/name, or name at cluster scope.
type Key listwatch.Key

var (
	_ encoding.TextMarshaler   = Key{}
	_ encoding.TextUnmarshaler = (*Key)(nil)
)

// String returns namespace/name.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// MarshalText implements encoding.TextMarshaler.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Key) UnmarshalText(text []byte) error {
	namespace, name, found := strings.Cut(string(text), "/")
	if !found {
		namespace, name = "", namespace
	}
	if found && (namespace == "" || name == "") || strings.Contains(name, "/") {
		return fmt.Errorf("%q is no key: expected namespace/name", text)
	}
	*k = Key{Namespace: namespace, Name: name}
	return nil
}

// Event is one object, or one bare key, at one boundary. It has nothing else of the object: values of Secrets and of
// everything else stay where they are.
type Event struct {
	Seq       uint64   `json:"seq"` // counts from 1
	Micros    int64    `json:"us"`  // since the world began
	At        Boundary `json:"at"`
	Kind      string   `json:"kind,omitempty"`
	Key       Key      `json:"key,omitzero"`
	Action    string   `json:"action,omitempty"`
	RV        string   `json:"rv,omitempty"`
	Old       string   `json:"old,omitempty"` // the resourceVersion that was replaced
	Handler   string   `json:"handler,omitempty"`
	Code      int      `json:"code,omitempty"` // of an HTTP answer
	Delay     int64    `json:"delay_us,omitempty"`
	Error     string   `json:"error,omitempty"`
	Initial   bool     `json:"initial,omitempty"`
	Tombstone bool     `json:"tombstone,omitempty"`
	Because   []uint64 `json:"because,omitempty"`
	Batch     uint64   `json:"batch,omitempty"` // the Seq of the first event of the same call of an observer
	N         int      `json:"n,omitempty"`     // how many events that call had, if more than one
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
func (e *Event) isNotable() bool { return e.Key == (Key{}) || e.Tombstone || e.Error != "" }
