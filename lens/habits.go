package lens

import "slices"

// inARow is how many reconciles make a habit.
const inARow = 3

// aLoop is how many in a row are a loop that has ended.
const aLoop = 8

// wakesItself reports whether own writes cause one reconcile after the other, and which fields these writes change.
func (s *story) wakesItself(all []Reconcile) (bool, []string) {
	row := 0 // of reconciles that only own writes have caused, up to the newest one
	times := map[effect]int{}
	for _, r := range slices.Backward(all) {
		if !s.isOwn(r) {
			break
		}
		row++
		for e := range r.effects() {
			times[e]++
		}
	}
	newest := all[len(all)-1]
	goesOn := s.reconciles[len(all)-1].hasChanged
	if row < inARow || !goesOn && row < aLoop {
		return false, nil
	}
	isHabit := false
	for e := range newest.effects() {
		isHabit = isHabit || times[e] >= inARow
	}
	if !isHabit {
		return false, nil
	}
	fields := []string{}
	for e, n := range times {
		if e.isField && n >= inARow {
			fields = append(fields, e.what)
		}
	}
	slices.Sort(fields)
	return true, slices.Compact(fields)
}

// effect is what a write has done, as far as two of them can be told apart by it.
type effect struct {
	informer, object, what string
	isField                bool
}

// effects are what the writes did that caused a reconcile. Of objects that are created and deleted the names do not count:
// they may be ever new ones.
func (r Reconcile) effects() map[effect]bool {
	effects := map[effect]bool{}
	for _, c := range r.Causes {
		for _, field := range c.Fields {
			effects[effect{c.Informer, c.Object, field, true}] = true
		}
		switch {
		case len(c.Fields) > 0:
		case c.Action == "update":
			effects[effect{informer: c.Informer, object: c.Object, what: c.Action}] = true
		default:
			effects[effect{informer: c.Informer, what: c.Action}] = true
		}
	}
	return effects
}

// isOwn reports whether nothing but this key's own writes caused a reconcile.
func (s *story) isOwn(r Reconcile) bool {
	return len(r.Causes) > 0 && !slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.writer != s.id })
}
