package look

import "slices"

// cameFrom is the boundary that an object passes before another.
var cameFrom = map[Boundary]Boundary{
	Decoded: Sent, Handed: Decoded, Popped: Handed, Stored: Popped, Called: Stored, Returned: Called,
}

// explain returns the events of a key, each with those that led to it. Within an informer that is the same version of
// the object at the boundary before. From there on it is what the key was queued for, by a handler of that name, since it
// was last taken.
func explain(all []Event, key, enqueuer string) []Event {
	journey := []Event{}
	var queued []uint64
	var taken, reconciled uint64
	lists := map[string]uint64{} // by kind: the last list that was handed over
	open := map[string]uint64{}  // by kind: the call of this key that the enqueueing handler is in
	for _, e := range all {
		if e.At == Handed && e.Action == "Replace" {
			lists[e.Kind] = e.Seq
		}
		if e.Key != key {
			continue
		}
		switch e.At {
		case Queued:
			for _, call := range open {
				e.Because = append(e.Because, call)
			}
			slices.Sort(e.Because)
			queued = append(queued, e.Seq)
		case Taken:
			e.Because, queued, taken = queued, nil, e.Seq
		case Reconciled:
			e.Because, reconciled = []uint64{taken}, e.Seq
		case Written, Decided:
			e.Because = []uint64{taken}
		case Forgotten:
			e.Because = []uint64{reconciled}
		case PutOff:
			e.Because = []uint64{reconciled}
			queued = append(queued, e.Seq)
		default:
			e.Because = objectCause(journey, &e, lists[e.Kind])
		}
		if e.Handler == enqueuer {
			if delete(open, e.Kind); e.At == Called {
				open[e.Kind] = e.Seq
			}
		}
		e.Because = slices.DeleteFunc(e.Because, func(seq uint64) bool { return seq == 0 }) // it was before the ring
		journey = append(journey, e)
	}
	return journey
}

// objectCause finds the cause of an event within an informer.
func objectCause(before []Event, e *Event, list uint64) []uint64 {
	for _, b := range slices.Backward(before) {
		if b.At == cameFrom[e.At] && b.Kind == e.Kind && b.isGone() == e.isGone() &&
			(b.RV == e.RV || b.RV == "" || e.RV == "") && (b.At != Called || b.Handler == e.Handler) {
			return []uint64{b.Seq}
		}
	}
	if e.isGone() && (e.At == Stored || e.At == Popped) {
		return []uint64{list} // it is gone because the list lacks it
	}
	return nil
}
