package shards

import (
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// view is what the Leases say at one moment of the watch, and what this member knows of time.
type view struct {
	now     time.Time
	members map[string]memberLease // by identity
	fences  []fence                // of this member's number of shards, one each
	foreign []fence                // of other numbers
	seen    map[string]sighting    // the member's own, read only

	live    []string // the identities of those that can own shards, in order
	expired []memberLease
	wake    time.Time // when the next of the live will have expired, or an absent one be given up
}

// sighting is the last version of a member's Lease that this member has seen, and when.
type sighting struct {
	version uint64
	at      time.Time
	term    string
	repeats int // versions with the same term before this one
	lasts   time.Duration
}

// note remembers when a Lease changed. It reports whether the change means anything but that its holder is alive.
func (m *Member) note(l *coordinationv1.Lease) (matters bool) {
	lease, ok := readMember(m.opts.Name, l)
	if !ok {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.noteLocked(lease)
}

func (m *Member) noteLocked(l memberLease) (matters bool) {
	before, now := m.seen[l.identity], time.Now()
	if before.version >= l.version {
		return false
	}
	after := sighting{version: l.version, at: now, term: l.term, lasts: duration(l.Lease)}
	if before.term == l.term {
		after.repeats = before.repeats + 1
	}
	m.seen[l.identity] = after
	return before.term != l.term || l.leaving || !now.Before(before.at.Add(before.lasts))
}

// look reads the informer's store, at one moment: a fence that names a term is never newer than the term's Lease.
func (m *Member) look() *view {
	v := &view{members: map[string]memberLease{}, fences: make([]fence, m.opts.Shards)}
	for s := range v.fences {
		v.fences[s] = fence{shards: m.opts.Shards, shard: s}
	}
	for _, l := range m.informer.Store().List() {
		if member, ok := readMember(m.opts.Name, l); ok {
			v.members[member.identity] = member
		} else if f, ok := readFence(m.opts.Name, l); !ok {
			continue
		} else if f.shards == m.opts.Shards {
			v.fences[f.shard] = f
		} else {
			v.foreign = append(v.foreign, f)
		}
	}
	return v
}

// judgeLocked tells the living from the expired, by this member's own clock.
func (m *Member) judgeLocked(v *view) {
	v.now, v.seen = time.Now(), m.seen
	for _, identity := range slices.Sorted(maps.Keys(v.members)) {
		l := v.members[identity]
		m.noteLocked(l)
		expiry := m.seen[identity].at.Add(duration(l.Lease))
		switch {
		case l.term == "":
		case identity == m.opts.Identity:
			if l.term == m.term && v.now.Before(m.deadline) && !m.leaving {
				v.live = append(v.live, identity)
			}
		case !v.now.Before(expiry):
			v.expired = append(v.expired, l)
		default:
			v.wakeAt(expiry)
			if !l.leaving {
				v.live = append(v.live, identity)
			}
		}
	}
}

func (v *view) wakeAt(t time.Time) {
	if v.wake.IsZero() || t.Before(v.wake) {
		v.wake = t
	}
}

// favoured returns the number of shards that most of the living have, and of equals the largest.
func (v *view) favoured() (shards int) {
	votes := map[int]int{}
	for _, identity := range v.live {
		votes[v.members[identity].shards]++
	}
	for n, count := range votes {
		if count > votes[shards] || count == votes[shards] && n > shards {
			shards = n
		}
	}
	return shards
}

// of returns those of the living that have that number of shards.
func (v *view) of(shards int) (identities []string) {
	for _, identity := range v.live {
		if v.members[identity].shards == shards {
			identities = append(identities, identity)
		}
	}
	return identities
}

// free reports whether nobody works under the fence. It names no term, or one that has ended: its member's Lease names
// another. That an unrevoked Lease has expired is not enough: a renewal may be there that this member has not seen yet.
//
// If the member's Lease is gone, somebody deleted it, and its owner may not know yet. Then the term is over once
// it would have expired since that was first seen.
func (m *Member) freeLocked(v *view, f fence) bool {
	if f.term == "" {
		return true
	}
	if l, ok := v.members[identityOf(f.term)]; ok {
		delete(m.absent, f.term)
		return l.term != f.term
	}
	since, ok := m.absent[f.term]
	if !ok {
		since = v.now
		m.absent[f.term] = since
	}
	over := since.Add(duration(f.Lease))
	if v.now.Before(over) {
		v.wakeAt(over)
		return false
	}
	return true
}
