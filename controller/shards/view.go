package shards

import (
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// view is what the Leases say at one moment of the watch, and which members live, by this member's clock.
type view struct {
	now     time.Time
	members map[string]record // by identity
	fences  []record          // of this member's number of shards, in order
	foreign []record          // fences of other numbers
	live    []string          // the identities of those that can own shards, in order
	expired map[string]record // members that were not renewed in time, by identity
	wake    time.Time         // when the next of the living will have expired, if nothing comes
}

// sighting is the last version of a member's Lease that this member has seen, and when.
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
	before, known := m.seen[r.identity]
	if r.identity != "" {
		m.noteLocked(r)
	}
	m.mu.Unlock()
	renewed := known && before.term == r.term && before.leaving == r.leaving && time.Now().Before(before.expiry())
	if r.identity == "" || !renewed {
		wake(m.decideCh)
	}
}

func (m *Member) noteLocked(r record) {
	if m.seen[r.identity].version < r.version {
		m.seen[r.identity] = sighting{r, time.Now()}
	}
}

// lookLocked reads the informer's store at one moment. So a fence that names a term is never newer than what the view
// knows of that term's Lease.
func (m *Member) lookLocked() *view {
	v := &view{members: map[string]record{}, fences: make([]record, m.opts.Shards), expired: map[string]record{}}
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
	maps.DeleteFunc(m.seen, func(identity string, _ sighting) bool { return v.members[identity].Lease == nil })
	v.now = time.Now()
	for _, identity := range slices.Sorted(maps.Keys(v.members)) {
		r, expiry := v.members[identity], m.seen[identity].expiry()
		switch {
		case r.term == "":
		case identity == m.opts.Identity:
			if r.term == m.term && !m.leaving {
				v.live = append(v.live, identity)
			}
		case !v.now.Before(expiry):
			v.expired[identity] = r
		default:
			v.wakeAt(expiry)
			if !r.leaving {
				v.live = append(v.live, identity)
			}
		}
	}
	return v
}

func (v *view) wakeAt(t time.Time) {
	if v.wake.IsZero() || t.Before(v.wake) {
		v.wake = t
	}
}

// workers returns the number of shards that most of the living have, of equals the largest, and those who have it.
func (v *view) workers() (count int, identities []string) {
	by := map[int][]string{}
	for _, identity := range v.live {
		n := v.members[identity].count
		by[n] = append(by[n], identity)
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
// not seen.
//
// If the member's Lease is gone, somebody has deleted it, and its member may not know. Then the term is over when it
// would have expired, counted from when this member first saw that.
func (m *Member) freeLocked(v *view, fence record) bool {
	if fence.term == "" {
		return true
	}
	if r, ok := v.members[identityOf(fence.term)]; ok {
		delete(m.absent, fence.term)
		return r.term != fence.term
	}
	if m.absent[fence.term].IsZero() {
		m.absent[fence.term] = v.now
	}
	over := m.absent[fence.term].Add(fence.lasts)
	if v.now.Before(over) {
		v.wakeAt(over)
		return false
	}
	return true
}

// blockedLocked reports whether a fence of another number of shards overlaps this one and is not free. If older is set,
// only those count that were written before this one.
//
// That decides between members of different numbers. Each first writes its fence, and begins when the watch shows it:
// by then the watch has shown all that was written before. So of two that overlap, the one that was written first is
// in force, and both know which.
func (m *Member) blockedLocked(v *view, fence record, older bool) bool {
	return slices.ContainsFunc(v.foreign, func(other record) bool {
		return overlap(fence.shard, fence.count, other.shard, other.count) &&
			(!older || other.version < fence.version) && !m.freeLocked(v, other)
	})
}
