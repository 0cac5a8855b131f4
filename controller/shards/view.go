package shards

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

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

// sighting is the last version of a member's Lease that this member has seen, and when. If the Lease has gone, it has
// none, and tells when that was seen.
type sighting struct {
	record
	at time.Time
}

func (s sighting) expiry() time.Time { return s.at.Add(s.lasts) }

// changed is told of each Lease that the watch shows. Most are renewals, on which no decision depends.
func (m *Member) changed(l *coordinationv1.Lease) {
	r, ok := read(m.opts.Name, l)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.seen[r.identity]
	isRenewal := r.identity != "" && before.term == r.term && time.Now().Before(before.expiry())
	if m.noteLocked(r); !isRenewal {
		wake(m.decideCh)
	}
}

func (m *Member) noteLocked(r record) {
	before := m.seen[r.identity]
	if r.identity == "" || before.version >= r.version {
		return
	}
	if r.identity == m.opts.Identity && r.term != m.term {
		if m.rivals++; before.term != r.term {
			m.rivals = 0
		}
	}
	m.seen[r.identity] = sighting{r, time.Now()}
}

// lookLocked reads the informer's store at one moment. So a fence that names a term is never newer than what the view
// knows of that term's Lease.
func (m *Member) lookLocked() *view {
	v := &view{members: map[string]record{}, fences: make([]record, m.opts.Shards), due: map[string]write{}}
	for s := range v.fences {
		v.fences[s] = record{shard: s, count: m.opts.Shards}
	}
	for _, l := range m.informer.Store().List() {
		switch r, ok := read(m.opts.Name, l); {
		case !ok:
		case r.identity != "":
			v.members[r.identity] = r
			m.noteLocked(r)
		case r.count == m.opts.Shards:
			v.fences[r.shard] = r
		default:
			v.foreign = append(v.foreign, r)
		}
	}
	v.now = time.Now()
	v.wake = v.now.Add(m.opts.LeaseDuration)
	for identity, r := range v.members {
		if !m.expiredLocked(v, r) && identity != m.opts.Identity && r.term != "" {
			v.wakeAt(m.seen[identity].expiry())
		}
	}
	for _, fence := range v.foreign {
		v.busy = !m.freeLocked(v, fence) || v.busy
	}
	return v
}

func (v *view) wakeAt(t time.Time) {
	if t.Before(v.wake) {
		v.wake = t
	}
}

// expiredLocked reports whether another member has not renewed its Lease in time.
func (m *Member) expiredLocked(v *view, r record) bool {
	return r.term != "" && r.identity != m.opts.Identity && !v.now.Before(m.seen[r.identity].expiry())
}

// workersLocked returns the number of shards that most of the living have, of equals the largest, and those who have
// it.
func (m *Member) workersLocked(v *view) (count int, identities []string) {
	by := map[int][]string{}
	for identity, r := range v.members {
		isFormer := identity == m.opts.Identity && r.term != m.term
		if r.term != "" && !isFormer && !m.expiredLocked(v, r) {
			by[r.count] = append(by[r.count], identity)
		}
	}
	for n, some := range by {
		if len(some) > len(identities) || len(some) == len(identities) && n > count {
			count, identities = n, some
		}
	}
	return count, identities
}

// freeLocked reports whether nobody works under the fence: it names no term, or one that has ended, as its member's
// Lease names another or none. It is not enough that the Lease has expired: there may be a renewal that this member has
// not seen. So the term is taken out of the Lease first, on condition that this was not renewed.
//
// If the member's Lease is gone, somebody has deleted it, and its member may not know. Then the term is over when it
// would have expired, counted from when this member first saw that.
func (m *Member) freeLocked(v *view, fence record) bool {
	owner, ok := v.members[identityOf(fence.term)]
	switch {
	case fence.term == "":
		return true
	case ok && m.expiredLocked(v, owner):
		m.revokeLocked(v, owner)
		return false
	case ok:
		return owner.term != fence.term
	}
	gone := m.seen[identityOf(fence.term)]
	if gone.Lease != nil || gone.at.IsZero() {
		gone = sighting{at: v.now}
		m.seen[identityOf(fence.term)] = gone
	}
	over := gone.at.Add(fence.lasts)
	if v.now.Before(over) {
		v.wakeAt(over)
		return false
	}
	return true
}
