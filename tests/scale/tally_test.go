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

// tally counts what happened: each kind, and each step by its place in steps. A fault of a step hits many requests, so
// that the number of requests alone does not show that each step was taken.
type tally struct {
	kinds [kinds]atomic.Int64
	steps [32]atomic.Int64
}

func (t *tally) fire(k kind) { t.kinds[k].Add(1) }

func (t *tally) String() string {
	var b strings.Builder
	for k := range kinds {
		fmt.Fprintf(&b, "%-34s %8d\n", k, t.kinds[k].Load())
	}
	for i, s := range steps {
		fmt.Fprintf(&b, "step %-29s %8d\n", s.name, t.steps[i].Load())
	}
	return b.String()
}
