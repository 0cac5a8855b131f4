package shards

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	// parallelWrites is how many fences a member writes at a time.
	parallelWrites = 16
	// gatherFor is how long a decision waits for more changes. When a member dies, they come in crowds.
	gatherFor = 10 * time.Millisecond
)

// decideLoop decides again whenever something may have changed, until ctx ends.
func (m *Member) decideLoop(ctx context.Context) {
	if m.informer.WaitForSync(ctx) != nil {
		return
	}
	for {
		next := m.decide(ctx)
		m.tell()
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			m.tell() // what leaving has let go
			return
		case <-timer:
		case <-m.decideCh:
			select {
			case <-time.After(gatherFor):
			case <-ctx.Done():
			}
		}
	}
}

// tell passes on what the member has got and lost.
func (m *Member) tell() {
	m.mu.Lock()
	gained, lost := m.gained, m.lost
	m.gained, m.lost = nil, nil
	held := 0
	for s := range m.shards {
		if m.shards[s].held {
			held++
		}
	}
	m.mu.Unlock()
	if len(gained)+len(lost) == 0 {
		return
	}
	m.opts.OnChange(gained, lost)
	if m.opts.Metrics.Held != nil {
		m.opts.Metrics.Held(held)
	}
}

// decide compares, shard by shard, who should own it with whom the fence names. It gets and lets go what it can at once,
// starts the writes that are due, and returns when to decide again if nothing changes.
func (m *Member) decide(ctx context.Context) (next time.Time) {
	v := m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.judgeLocked(v)
	if !v.now.Before(m.deadline) {
		return v.wake // without a Lease it decides nothing
	}
	var owners []string
	workers := v.of(v.favoured())
	if v.favoured() == m.opts.Shards {
		owners = m.assigned.of(m.opts.Shards, workers)
	}
	remaining := 0
	for s := range m.shards {
		target := memberLease{}
		if owners != nil {
			target = v.members[owners[s]]
		}
		m.decideShardLocked(ctx, v, v.fences[s], target)
		if v.fences[s].term == m.term && owners != nil {
			remaining++
		}
	}
	m.tidyLocked(ctx, v, workers)
	if m.leaving && m.announced && remaining == 0 {
		m.handedOver = true
		wake(m.leftCh)
	}
	return v.wake
}

// decideShardLocked is the life of one shard in one member. target is whom it is assigned to, if anybody.
//
//	fence names   assigned to   then
//	this term     this member   hold it, unless this version was given away already: then write it once more
//	this term     another       stop, let reconciles finish, and write the other's term into the fence
//	this term     nobody        the same, with no term
//	nobody alive  this member   write this term into the fence; hold it when the watch shows it
func (m *Member) decideShardLocked(ctx context.Context, v *view, f fence, target memberLease) {
	sh := &m.shards[f.shard]
	named, mine := f.term == m.term, target.Lease != nil && target.term == m.term
	if mine && !sh.held && sh.wantedAt.IsZero() {
		sh.wantedAt = v.now
	} else if !mine {
		sh.wantedAt, sh.freeAt = time.Time{}, time.Time{}
	}
	switch {
	case named && mine && f.version > sh.given:
		if !sh.held && sh.pins == 0 && m.inForceLocked(v, f) {
			m.acquireLocked(f.shard, v.now)
		}
	case named:
		m.releaseLocked(f.shard, m.opts.LeaseDuration)
		if sh.pins == 0 && (!m.leaving || m.announced && target.Lease != nil) {
			m.startLocked(ctx, v, f, target)
		}
	case mine && sh.pins == 0 && m.takeableLocked(ctx, v, f):
		m.startLocked(ctx, v, f, target)
	}
}

// takeableLocked reports whether nobody works under the fence, nor under one of another number of shards that overlaps.
// If only expired members do, it revokes their Leases.
func (m *Member) takeableLocked(ctx context.Context, v *view, f fence) bool {
	sh := &m.shards[f.shard]
	if !m.freeLocked(v, f) {
		if l, ok := v.members[identityOf(f.term)]; ok && v.hasExpired(l) {
			sh.freeAt = v.seen[l.identity].at
			m.revokeLocked(ctx, l)
		}
		return false
	}
	if sh.freeAt.IsZero() {
		sh.freeAt = v.now
	}
	return !m.blockedLocked(v, f, false)
}

// inForceLocked reports whether the fence, which names this term, allows to work. If members divide into different
// numbers of shards, two fences may overlap. Of those the one that was written first counts. Everybody sees the same
// order: what the watch showed before this fence was written before it.
func (m *Member) inForceLocked(v *view, f fence) bool { return !m.blockedLocked(v, f, true) }

func (m *Member) blockedLocked(v *view, f fence, byOlder bool) bool {
	for _, g := range v.foreign {
		if overlap(f.shard, f.shards, g.shard, g.shards) && (!byOlder || g.version < f.version) && !m.freeLocked(v, g) {
			return true
		}
	}
	return false
}

func (v *view) hasExpired(l memberLease) bool {
	for _, e := range v.expired {
		if e.identity == l.identity {
			return true
		}
	}
	return false
}

// startLocked writes the target's term into the fence, or none. It fails if the fence was written since v.
func (m *Member) startLocked(ctx context.Context, v *view, f fence, target memberLease) {
	sh := &m.shards[f.shard]
	if sh.tried == f.version && v.now.Before(sh.retryAt) {
		v.wakeAt(sh.retryAt)
		return
	}
	if sh.busy {
		return // its end decides again
	}
	sh.busy, sh.tried, sh.retryAt = true, f.version, v.now.Add(m.opts.RenewEvery)
	if f.term == m.term {
		sh.given = f.version
	}
	lasts := m.opts.LeaseDuration
	if target.Lease != nil {
		lasts = duration(target.Lease)
	}
	next := rewritten(f.Lease, m.opts.Name, fenceName(m.opts.Name, f.shards, f.shard), target.term, lasts)
	m.goLocked(ctx, func(ctx context.Context) error {
		_, err := m.write(ctx, next)
		return err
	}, func() { sh.busy = false })
}

// goLocked sends a request in a goroutine of its own, a few at a time. then is called afterwards, with m.mu held.
func (m *Member) goLocked(ctx context.Context, send func(ctx context.Context) error, then func()) {
	m.writing.Go(func() {
		m.writes <- struct{}{}
		request, cancel := context.WithTimeout(ctx, m.opts.RenewEvery)
		m.failed(request, "write", send(request))
		cancel()
		<-m.writes
		m.mu.Lock()
		then()
		m.mu.Unlock()
		wake(m.decideCh)
	})
}

// revokeLocked takes the term out of an expired member's Lease. From then on its renewals fail. If it renewed in the
// meantime the write fails, and the member lives. Without that a member with a slow watch could take the
// shards of one that renews.
func (m *Member) revokeLocked(ctx context.Context, l memberLease) {
	if !m.onceLocked(l.Lease) {
		return
	}
	next := rewritten(l.Lease, m.opts.Name, l.Name, "", duration(l.Lease))
	m.goLocked(ctx, func(ctx context.Context) error {
		_, err := m.write(ctx, next)
		return err
	}, func() {})
}

// onceLocked reports whether a chore for this version of a Lease is yet to be done, or to be tried again.
func (m *Member) onceLocked(l *coordinationv1.Lease) bool {
	now := time.Now()
	if c := m.chores[l.Name]; c.version == versionOf(l) && now.Before(c.retryAt) {
		return false
	}
	m.chores[l.Name] = chore{versionOf(l), now.Add(m.opts.RenewEvery)}
	return true
}

// chore is a write that is not about a shard of this member's.
type chore struct {
	version uint64
	retryAt time.Time
}

// tidyLocked does this member's part of the chores: revoke expired members, delete the Leases of ended ones that no
// fence names, and the fences of a number of shards that no member has any more.
func (m *Member) tidyLocked(ctx context.Context, v *view, workers []string) {
	named := map[string]bool{}
	for _, f := range v.fences {
		named[f.term] = true
	}
	counts := map[int]bool{}
	for _, l := range v.members {
		counts[l.shards] = counts[l.shards] || l.term != ""
	}
	for _, f := range v.foreign {
		named[f.term] = true
		if !counts[f.shards] && f.term == "" && chosen(m.opts.Identity, f.Name, workers) {
			m.deleteLocked(ctx, f.Lease)
		}
	}
	for _, l := range v.expired {
		if chosen(m.opts.Identity, l.Name, workers) {
			m.revokeLocked(ctx, l)
		}
	}
	for _, l := range v.members {
		if l.term == "" && !m.namesLocked(named, l.identity) && chosen(m.opts.Identity, l.Name, workers) {
			m.deleteLocked(ctx, l.Lease)
		}
	}
}

func (m *Member) namesLocked(terms map[string]bool, identity string) bool {
	for term := range terms {
		if identityOf(term) == identity {
			return true
		}
	}
	return false
}

func (m *Member) deleteLocked(ctx context.Context, l *coordinationv1.Lease) {
	if !m.onceLocked(l) {
		return
	}
	name, uid, version := l.Name, l.UID, l.ResourceVersion
	m.goLocked(ctx, func(ctx context.Context) error {
		return m.leases.Delete(ctx, name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: ptr.To[types.UID](uid), ResourceVersion: &version},
		})
	}, func() {})
}
