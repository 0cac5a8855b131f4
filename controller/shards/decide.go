package shards

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// parallelWrites is how many Leases a member writes at a time, beside its own.
	parallelWrites = 16
	// gatherFor is how long a decision waits for more changes: they come in crowds.
	gatherFor = 10 * time.Millisecond
)

// decideLoop decides again whenever something may have changed, until ctx ends.
func (m *Member) decideLoop(ctx context.Context) {
	defer m.tell() // of what was let go at the end
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
			return
		case <-timer:
		case <-m.decideCh:
			time.Sleep(gatherFor)
		}
	}
}

// tell passes on what the member has got and lost.
func (m *Member) tell() {
	m.mu.Lock()
	gained, lost, held := m.gained, m.lost, m.held
	m.gained, m.lost = nil, nil
	m.mu.Unlock()
	changed := len(gained)+len(lost) > 0
	if changed && m.opts.Metrics.Held != nil {
		m.opts.Metrics.Held(held)
	}
	if changed && m.opts.OnChange != nil {
		m.opts.OnChange(gained, lost)
	}
}

// decide compares, shard by shard, to whom it is assigned with whom its fence names. It begins and ends work on
// shards, starts the writes that are due, and returns when to decide again if nothing changes.
func (m *Member) decide(ctx context.Context) (next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.lookLocked()
	if !v.now.Before(m.deadline) {
		return v.wake // a member without a Lease decides nothing
	}
	count, workers := v.workers()
	if !slices.Equal(workers, m.ownersOf) {
		m.ownersOf, m.owners = workers, Assign(m.opts.Shards, workers)
	}
	own, _ := read(m.opts.Name, m.own)
	toHandOver := 0
	for s := range m.shards {
		var target record // nobody, if this member's number of shards is not the one in use
		if count == m.opts.Shards {
			target = v.members[m.owners[s]]
		}
		m.decideShardLocked(ctx, v, v.fences[s], target, !m.leaving || own.leaving && target.Lease != nil)
		if v.fences[s].term == m.term && target.Lease != nil {
			toHandOver++
		}
	}
	m.tidyLocked(ctx, v, workers)
	m.handedOver = own.leaving && toHandOver == 0
	return v.wake
}

// decideShardLocked is the life of a shard in one member. target is to whom it is assigned, if to anybody.
//
//	the fence names   assigned to   then
//	this term         this member   hold it; if this version was given away already, write the fence once more
//	this term         another       stop, let reconciles finish, and write the other's term into the fence
//	this term         nobody        the same, with no term
//	nobody alive      this member   write this term into the fence, and hold it when the watch shows that
//
// mayGive is not set before a member that leaves has said so: others would hand shards back to it.
func (m *Member) decideShardLocked(ctx context.Context, v *view, fence, target record, mayGive bool) {
	sh := &m.shards[fence.shard]
	named, mine := fence.term == m.term, target.Lease != nil && target.term == m.term
	if !mine {
		sh.wantedAt, sh.freeAt = time.Time{}, time.Time{}
	} else if !sh.held && sh.wantedAt.IsZero() {
		sh.wantedAt = v.now
	}
	if !named && sh.held { // this cannot be while all keep to the rules
		m.releaseLocked(fence.shard, 0)
	}
	switch {
	case named && mine && fence.version > sh.given:
		if !sh.held && sh.pins == 0 && !m.blockedLocked(v, fence, true) {
			m.acquireLocked(fence.shard, v.now)
		}
		return
	case named:
		m.releaseLocked(fence.shard, m.opts.StopWithin)
		if sh.pins > 0 || !mayGive {
			return
		}
		sh.given = fence.version // also if the write seems to fail: it may arrive later
	case !mine || sh.pins > 0 || !m.takeableLocked(ctx, v, fence):
		return
	}
	name := fenceName(m.opts.Name, fence.count, fence.shard)
	m.writeLocked(ctx, v, with(fence.Lease, m.opts.Name, name, target.term, cmp.Or(target.lasts, m.opts.LeaseDuration)))
}

// takeableLocked reports whether nobody works under the fence, nor under another that overlaps. An expired owner's
// Lease is revoked first.
func (m *Member) takeableLocked(ctx context.Context, v *view, fence record) bool {
	sh := &m.shards[fence.shard]
	if !m.freeLocked(v, fence) {
		if owner, ok := v.expired[identityOf(fence.term)]; ok {
			sh.freeAt = m.seen[owner.identity].at
			m.revokeLocked(ctx, v, owner)
		}
		return false
	}
	if sh.freeAt.IsZero() {
		sh.freeAt = v.now
	}
	return !m.blockedLocked(v, fence, false)
}

// revokeLocked takes the term out of an expired member's Lease, so that its renewals fail from then on. If it has
// renewed in the meantime, the write fails and the member lives. Otherwise a member whose watch is slow would take the
// shards of one that renews.
func (m *Member) revokeLocked(ctx context.Context, v *view, owner record) {
	m.writeLocked(ctx, v, with(owner.Lease, m.opts.Name, owner.Name, "", owner.lasts))
}

// tidyLocked does the chores that fall to this member: it revokes members that have expired, and deletes the Leases of
// those that have ended once no fence names them, and free fences of a number of shards that no member has.
func (m *Member) tidyLocked(ctx context.Context, v *view, workers []string) {
	named, counts := map[string]bool{}, map[int]bool{}
	for _, fence := range slices.Concat(v.fences, v.foreign) {
		named[identityOf(fence.term)] = true
	}
	for identity, r := range v.members {
		counts[r.count] = counts[r.count] || r.term != ""
		_, expired := v.expired[identity]
		if ended := r.term == "" && !named[identity]; !expired && !ended || !chosen(m.opts.Identity, r.Name, workers) {
			continue
		} else if expired {
			m.revokeLocked(ctx, v, r)
		} else {
			m.deleteLocked(ctx, v, r.Lease)
		}
	}
	for _, fence := range v.foreign {
		if !counts[fence.count] && m.freeLocked(v, fence) && chosen(m.opts.Identity, fence.Name, workers) {
			m.deleteLocked(ctx, v, fence.Lease)
		}
	}
	maps.DeleteFunc(m.absent, func(term string, _ time.Time) bool { return !named[identityOf(term)] })
	maps.DeleteFunc(m.attempts, func(_ string, a attempt) bool { return !v.now.Before(a.retryAt) })
}

func (m *Member) writeLocked(ctx context.Context, v *view, l *coordinationv1.Lease) {
	m.sendLocked(ctx, v, l, func(ctx context.Context) error {
		_, err := m.put(ctx, l)
		return err
	})
}

func (m *Member) deleteLocked(ctx context.Context, v *view, l *coordinationv1.Lease) {
	m.sendLocked(ctx, v, l, func(ctx context.Context) error {
		only := &metav1.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion}
		return m.leases.Delete(ctx, l.Name, metav1.DeleteOptions{Preconditions: only})
	})
}

// attempt is the last request that was to replace one version of a Lease.
type attempt struct {
	version string
	retryAt time.Time
}

// sendLocked sends a request in a goroutine of its own, unless one was sent for the same version a short time ago.
func (m *Member) sendLocked(ctx context.Context, v *view, l *coordinationv1.Lease, send func(context.Context) error) {
	if last, ok := m.attempts[l.Name]; ok && last.version == l.ResourceVersion && v.now.Before(last.retryAt) {
		v.wakeAt(last.retryAt)
		return
	}
	m.attempts[l.Name] = attempt{l.ResourceVersion, v.now.Add(m.opts.RenewEvery)}
	m.writing.Go(func() {
		m.writes <- struct{}{}
		defer func() { <-m.writes }()
		request, cancel := context.WithTimeout(ctx, m.opts.RenewEvery)
		defer cancel()
		m.failed(ctx, "write", send(request))
		wake(m.decideCh)
	})
}
