package lens

import "slices"

// causes finds the events that led to an event. Within an informer that is the same version of the same object at the
// boundary before. From there on it is whatever the key was queued for since it was last taken.
type causes struct {
	lanes map[lane][]passed
	lists map[string]uint64 // of a kind: the last list that was handed over
	open  map[string]Event  // of a kind: the call that the enqueueing handler is in
	keys  map[Key]*keyCauses
}

type lane struct {
	kind string
	key  Key
}

// passed is an event that may be a cause.
type passed struct {
	at      Boundary
	gone    bool
	rv      string
	handler string
	seq     uint64
}

// keyCauses are those of a bare key.
type keyCauses struct {
	queued            []uint64
	taken, reconciled uint64
}

const (
	laneLen  = 32      // a handler that lags by more versions of one object than this has calls without a cause
	maxLanes = 1 << 16 // then they are all forgotten
	maxQueue = 16      // causes of one key
)

// cameFrom is the boundary that an object passes before another.
var cameFrom = [boundaries]Boundary{
	Decoded: Sent, Handed: Decoded, Popped: Handed, Stored: Popped, Called: Stored, Returned: Called,
}

func newCauses() causes {
	return causes{map[lane][]passed{}, map[string]uint64{}, map[string]Event{}, map[Key]*keyCauses{}}
}

// note sets e.Because, and remembers e.
func (c *causes) note(e *Event) {
	switch {
	case e.At >= Queued:
		c.noteKey(e)
	case e.Key != Key{}:
		c.noteObject(e)
	case e.At == Handed && e.Action == "Replace":
		c.lists[e.Kind] = e.Seq
	}
}

// noteObject is note for an event of an informer.
func (c *causes) noteObject(e *Event) {
	if len(c.lanes) > maxLanes {
		clear(c.lanes)
	}
	before := cameFrom[e.At]
	id := lane{e.Kind, e.Key}
	was := c.lanes[id]
	for _, p := range slices.Backward(was) {
		if p.at == before && p.gone == e.isGone() && (p.rv == e.RV || p.rv == "" || e.RV == "") &&
			(before != Called || p.handler == e.Handler) {
			e.Because = []uint64{p.seq}
			break
		}
	}
	if list := c.lists[e.Kind]; e.Because == nil && e.At == Stored && list != 0 {
		e.Because = []uint64{list} // it is gone because the list lacks it
	}
	if e.At == Handed && e.Action == "Replace" {
		c.lists[e.Kind] = e.Seq
	}
	if e.Handler == enqueuer {
		c.open[e.Kind] = *e
		if e.At == Returned {
			delete(c.open, e.Kind)
		}
	}
	if len(was) == laneLen {
		was = append(was[:0], was[1:]...)
	}
	c.lanes[id] = append(was, passed{e.At, e.isGone(), e.RV, e.Handler, e.Seq})
}

// noteKey is note for an event of the controller.
func (c *causes) noteKey(e *Event) {
	k := c.keys[e.Key]
	if k == nil {
		if len(c.keys) > maxLanes {
			clear(c.keys)
		}
		k = &keyCauses{}
		c.keys[e.Key] = k
	}
	because := func(seq uint64) {
		if seq != 0 {
			e.Because = append(e.Because, seq)
		}
	}
	switch e.At {
	case Queued:
		for _, call := range c.open {
			if call.Key == e.Key {
				because(call.Seq)
			}
		}
		slices.Sort(e.Because)
	case Taken:
		e.Because, k.queued = k.queued, nil
		k.taken = e.Seq
	case Reconciled:
		because(k.taken)
		k.reconciled = e.Seq
	case Written:
		because(k.taken)
	case Forgotten, PutOff:
		because(k.reconciled)
	}
	if (e.At == Queued || e.At == PutOff) && len(k.queued) < maxQueue {
		k.queued = append(k.queued, e.Seq)
	}
}
