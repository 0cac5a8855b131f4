package shards

import "time"

// view is what the Leases say at one moment of the watch, and which members live, by this member's clock.
type view struct {
	now     time.Time
	members map[string]record // by identity
	fences  []record          // of this member's number of shards, in order
	foreign []record          // fences of other numbers
	// busy says that one of those names somebody who may work. Their shards overlap with ours.
	busy bool
	wake time.Time        // when to look again if nothing comes before
	due  map[string]write // by the name of the Lease
}

// noteLocked notes when a version of a member's Lease was seen.
func (m *Member) noteLocked(r record) {
	before := m.seen[r.identity]
	if r.identity == "" || before.version >= r.version {
		return
	}
	if r.identity == m.opts.Identity {
		if m.rivals++; before.term != r.term {
			m.rivals = 0
		}
	}
	r.at = time.Now()
	m.seen[r.identity] = r
}

// lookLocked reads the informer's store at one moment. So a fence that names a term is never newer than what the view
// knows of that term's Lease.
func (m *Member) lookLocked() *view {
	v := &view{now: time.Now(), members: map[string]record{}, due: map[string]write{}}
	v.fences, v.wake = make([]record, m.opts.Shards), v.now.Add(m.opts.LeaseDuration)
	for _, l := range m.informer.Store().List() {
		switch r, ok := read(m.opts.Name, l); {
		case !ok:
		case r.identity != "":
			v.members[r.identity] = r
			m.noteLocked(r)
			v.wakeAt(m.seen[r.identity].expiry())
		case r.count == m.opts.Shards:
			v.fences[r.shard] = r
		default:
			v.foreign = append(v.foreign, r)
		}
	}
	for _, fence := range v.foreign {
		v.busy = !m.freeLocked(v, fence) || v.busy
	}
	return v
}

func (v *view) wakeAt(t time.Time) {
	if v.now.Before(t) && t.Before(v.wake) {
		v.wake = t
	}
}

// expiredLocked reports whether another member has not renewed its Lease in time.
func (m *Member) expiredLocked(v *view, r record) bool {
	return r.term != "" && r.identity != m.opts.Identity && !v.now.Before(m.seen[r.identity].expiry())
}

// ownersLocked returns to whom each shard is assigned: nobody, if most of the living have another number of shards than
// this member, or as many have a larger one.
func (m *Member) ownersLocked(v *view) []string {
	living := map[int][]string{} // by number of shards
	for identity, r := range v.members {
		if r.term != "" && !m.expiredLocked(v, r) {
			living[r.count] = append(living[r.count], identity)
		}
	}
	own := living[m.opts.Shards]
	for n, some := range living {
		if len(some) > len(own) || len(some) == len(own) && n > m.opts.Shards {
			return nil
		}
	}
	return Assign(m.opts.Shards, own)
}

// freeLocked reports whether nobody works under the fence: it names no term, or one that has ended, as its member's
// Lease names another or none. It is not enough that the Lease has expired: this member's watch may be slow. So the term
// is first taken out of the Lease, on condition that this was not renewed. From then on renewals fail.
//
// If the member's Lease is gone, somebody has deleted it, and its member may not know. Then the term is over when it
// would have expired, counted from when this member first saw that.
func (m *Member) freeLocked(v *view, fence record) bool {
	owner, ok := v.members[identityOf(fence.term)]
	switch {
	case fence.term == "":
		return true
	case ok && m.expiredLocked(v, owner):
		v.due[owner.Name] = write{Lease: with(owner.Lease, m.opts.Name, owner.Name, "", owner.lasts)}
		return false
	case ok:
		return owner.term != fence.term
	}
	gone := m.seen[identityOf(fence.term)]
	if gone.Lease != nil || gone.at.IsZero() {
		gone = record{at: v.now}
		m.seen[identityOf(fence.term)] = gone
	}
	over := gone.at.Add(fence.lasts)
	v.wakeAt(over)
	return !v.now.Before(over)
}
