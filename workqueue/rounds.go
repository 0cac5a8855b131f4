package workqueue

// round remembers how much of a structure's memory is in use at most, so that what a burst took is given back and what a
// queue needs again and again is not. A round begins with the first item of a queue that knows none; and, for a queue that
// always knows one, when as much was freed as the structure has room for. What a round hardly used goes at its end.
type round struct {
	peak  int // the greatest use in this round
	freed int // how often something was freed in this round
}

func (r *round) uses(n int) { r.peak = max(r.peak, n) }

// frees reports whether the round is over.
func (r *round) frees(room int) bool {
	r.freed++
	return r.freed >= max(room, spareEntries)
}

// fit is how much room is left of have when a round ends: what was used twice over, if that is less than half.
func (r *round) fit(have int) int {
	if have > spareEntries && r.peak < have/4 {
		return max(2*r.peak, spareEntries)
	}
	return have
}

// largeLocked tells whether there may be something to give back. There are never more entries than half the slots.
func (q *Queue[T]) largeLocked() bool {
	return len(q.table.buckets) > spareEntries || cap(q.delayed.nodes) > spareEntries
}

// beginRoundLocked ends a round and begins the next.
func (q *Queue[T]) beginRoundLocked() {
	q.table.endRound()
	q.delayed.endRound()
}
