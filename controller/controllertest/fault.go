package controllertest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is a kind of fault.
type Fault string

// At a write of the program.
const (
	CrashBefore   Fault = "crash before"    // the program dies, and the write never reaches the server
	CrashAfter    Fault = "crash after"     // the write is stored, and the program dies without the answer
	LoseAnswer    Fault = "answer lost"     // the write is stored, the connection breaks, the program lives on
	Conflict      Fault = "409 conflict"    // refused; not at creations, for which 409 means that the name is taken
	TooMany       Fault = "429 too many"    // refused, with Retry-After of a second
	ServerError   Fault = "500 error"       // refused
	Unavailable   Fault = "503 unavailable" // refused
	ServerTimeout Fault = "504 timeout"     // refused; as far as the program knows, the write may have happened
	HandOver      Fault = "hand-over"       // the write is on its way for 20 seconds, while another replica takes over
)

// At anybody's write of an object that the program watches.
const (
	HoldSeconds Fault = "watch late by seconds"     // the program learns of it 5 seconds late; its other watches go on
	HoldMinutes Fault = "watch late by minutes"     // 6 minutes: longer than the usual patience with a cache (expectations time out after 5)
	HoldLong    Fault = "watch late by the step"    // until everything else has settled, at the next Settle: a Do before it must not wait for the program
	Miss        Fault = "watch missed it"           // the watch breaks, and 45 seconds of history are compacted: only a list can tell
	StaleStart  Fault = "restart with a stale list" // the program dies, and starts with lists from before the write, as from an API server that lags
	Outage      Fault = "server away"               // no request of the program is answered for ten minutes
)

// At anybody's write, if the program has to do with Leases.
const (
	ClockBehind Fault = "clock behind" // for 6 minutes the program's clock is 6 minutes behind: Leases are from the future, what it writes is old
	ClockAhead  Fault = "clock ahead"  // 6 minutes ahead: Leases look old, what it writes is from the future
)

// AllFaults returns the kinds of faults, sorted.
func AllFaults() []Fault { return slices.Sorted(maps.Keys(behaviours)) }

// behaviour is what a fault does.
type behaviour struct {
	// atEvents faults come with anybody's write of a kind that the program watches, others with a write of the program.
	atEvents bool
	// atLeases faults come with anybody's write, if the program asks for Leases.
	atLeases bool
	// lasts is how long it takes, with what programs wait longer because of it. Settle waits for that.
	lasts time.Duration
	do    func(h *hit)
}

// hit is a write that a fault has hit. Its methods do one thing each.
type hit struct {
	*world
	request request
	from    *instance // nil if others write
	answer  http.ResponseWriter
	// commit lets the server handle the write. The answer goes to w.
	commit func(w http.ResponseWriter)
}

// A program's backoff is at most as long as the trouble was. So a fault has passed after twice its time.
const (
	crashes      = 2 * time.Second
	seconds      = 5 * time.Second
	minutes      = 6 * time.Minute
	missing      = 45 * time.Second
	outage       = 10 * time.Minute
	onWay        = 20 * time.Second
	untilSettled = -1
)

var behaviours map[Fault]behaviour

func init() { // what faults do leads back to this table
	behaviours = map[Fault]behaviour{
		CrashBefore:   {lasts: crashes, do: func(h *hit) { h.from.crash(); h.breakOff() }},
		CrashAfter:    {lasts: crashes, do: func(h *hit) { h.from.die(); h.commit(nowhere()); h.from.crash(); h.breakOff() }},
		LoseAnswer:    {lasts: crashes, do: func(h *hit) { h.commit(nowhere()); h.breakOff() }},
		Conflict:      {lasts: crashes, do: func(h *hit) { h.refuse(http.StatusConflict, metav1.StatusReasonConflict, 0) }},
		TooMany:       {lasts: crashes, do: func(h *hit) { h.refuse(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 1) }},
		ServerError:   {lasts: crashes, do: func(h *hit) { h.refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0) }},
		Unavailable:   {lasts: crashes, do: func(h *hit) { h.refuse(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0) }},
		ServerTimeout: {lasts: crashes, do: func(h *hit) { h.refuse(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, 0) }},
		HandOver:      {lasts: onWay, do: (*hit).handOver},
		HoldSeconds:   {atEvents: true, lasts: seconds, do: func(h *hit) { h.hold(h.request.resource, seconds); h.commit(h.answer) }},
		HoldMinutes:   {atEvents: true, lasts: minutes, do: func(h *hit) { h.hold(h.request.resource, minutes); h.commit(h.answer) }},
		HoldLong:      {atEvents: true, lasts: crashes, do: func(h *hit) { h.hold(h.request.resource, untilSettled); h.commit(h.answer) }},
		Miss:          {atEvents: true, lasts: missing, do: func(h *hit) { h.cut(h.request.resource); h.commit(h.answer) }},
		StaleStart:    {atEvents: true, lasts: missing, do: (*hit).staleStart},
		Outage:        {atEvents: true, lasts: outage, do: (*hit).outage},
		ClockBehind:   {atLeases: true, lasts: minutes, do: func(h *hit) { h.setClock(-minutes); h.commit(h.answer) }},
		ClockAhead:    {atLeases: true, lasts: minutes, do: func(h *hit) { h.setClock(minutes); h.commit(h.answer) }},
	}
}

// possible tells whether a fault makes sense at a request.
func (f Fault) possible(r request, watched map[string]bool, leases bool) bool {
	switch {
	case behaviours[f].atLeases:
		return leases
	case behaviours[f].atEvents:
		return watched[r.resource]
	case r.who != program:
		return false
	}
	return f != Conflict || r.verb != "create"
}

// planned is a fault and the request at which it happens.
type planned struct {
	fault Fault
	at    request
}

func (p planned) String() string { return fmt.Sprintf("%s: %s", p.fault, p.at) }

func describe(plan []planned) string {
	names := make([]string, len(plan))
	for i, p := range plan {
		names[i] = p.String()
	}
	return strings.Join(names, " + ")
}
