package scale

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// kind is a kind of fault, or something else that must have happened for a run to mean anything.
type kind uint8

const (
	partitioned kind = iota
	renewalLost
	requestLost
	answerLost
	slow
	watchStalled
	putHeld
	lateRefused
	skewed
	killed
	restarted
	joined
	left
	resharded
	deletedLease
	kinds
)

func (k kind) String() string {
	return [...]string{
		"requests in a partition", "renewals lost", "requests lost", "answers lost", "slow requests",
		"reads of a stalled watch",
		"updates held on the way", "held writes refused", "processes with a skewed clock", "killed", "restarted",
		"joined", "left",
		"changes of the number of shards", "Leases deleted by hand",
	}[k]
}

// tally counts what happened.
type tally [kinds]atomic.Int64

func (t *tally) fire(k kind) { t[k].Add(1) }

func (t *tally) String() string {
	var b strings.Builder
	for k := range kinds {
		fmt.Fprintf(&b, "%-34s %8d\n", k, t[k].Load())
	}
	return b.String()
}
