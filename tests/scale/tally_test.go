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
	answerLate
	requestLost
	answerLost
	slow
	watchStalled
	putHeld
	handOverHeld
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
		"requests in a partition", "renewals lost", "answers to renewals late", "requests lost", "answers lost",
		"slow requests", "reads of a stalled watch", "updates held on the way", "hand-overs held on the way",
		"held writes refused", "processes with a skewed clock", "killed", "restarted", "joined", "left",
		"changes of the number of shards", "Leases deleted by hand",
	}[k]
}

// tally counts what happened: each request that a fault has hit, all else of a kind, and in how many steps of a name
// something of the step's kind has happened.
type tally struct {
	kinds [kinds]atomic.Int64
	steps [14]atomic.Int64
}

func (t *tally) fire(k kind) { t.kinds[k].Add(1) }

// add adds what another has counted.
func (t *tally) add(other *tally) {
	for k := range t.kinds {
		t.kinds[k].Add(other.kinds[k].Load())
	}
	for i := range t.steps {
		t.steps[i].Add(other.steps[i].Load())
	}
}

// missing returns what happened less often than that.
func (t *tally) missing(least int64) (what []string) {
	for k := range kinds {
		if t.kinds[k].Load() < least {
			what = append(what, k.String())
		}
	}
	for i, s := range steps {
		if t.steps[i].Load() < least {
			what = append(what, "step "+s.name)
		}
	}
	return what
}

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
