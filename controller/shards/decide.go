package shards

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

const (
	parallelWrites = 16                    // Leases that a member writes at a time, beside its own
	gatherFor      = 10 * time.Millisecond // a decision waits for more changes: they come in crowds
)

// view is what the Leases say at one moment of the watch, and what is to be written.
type view struct {
	now      time.Time
	version  uint64                                 // the watch has shown everything up to here
	members  map[string]record                      // by identity
	fences   []record                               // of this member's number of shards, in order
	foreign  []record                               // fences of other numbers
	requests map[string]func(context.Context) error // by the name of the Lease
	next     time.Time                              // when to look again if nothing comes before
}

// lookLocked reads the informer's store at one moment. So a fence that names a term is never newer than what the view
// knows of that term's Lease.
func (m *Member) lookLocked() *view {
	v := &view{now: time.Now(), version: versionOf(m.informer.Store().ResourceVersion())}
	v.next, v.requests = v.now.Add(m.opts.LeaseDuration), map[string]func(context.Context) error{}
	v.members, v.fences = map[string]record{}, make([]record, m.opts.Shards)
	for _, l := range m.informer.Store().List() {
		switch r := m.opts.read(l); {
		case r.identity != "":
			v.members[r.identity] = m.noteLocked(r)
			v.lookAt(v.members[r.identity].expiry())
		case r.count == m.opts.Shards:
			v.fences[r.shard] = r
		case r.count != 0:
			v.foreign = append(v.foreign, r)
		}
	}
	m.seen = v.members
	return v
}

func (v *view) lookAt(t time.Time) {
	if v.now.Before(t) && t.Before(v.next) {
		v.next = t
	}
}

// noteLocked notes a version of a member's Lease, and when it was seen.
func (m *Member) noteLocked(r record) record {
	before, known := m.seen[r.identity]
	if known && before.version >= r.version {
		return before
	}
	r.renewedAt, r.formerAt = time.Now(), before.renewedAt
	switch r.term {
	case "": // its end is no renewal
		r.renewedAt = cmp.Or(before.renewedAt, r.renewedAt)
	case before.term:
		r.renewals, r.formerAt = before.renewals+1, before.formerAt
	}
	m.seen[r.identity] = r
	return r
}

// isExpired reports whether another member has not renewed its Lease in time.
func (m *Member) isExpired(v *view, r record) bool {
	return r.term != "" && r.identity != m.opts.Identity && !v.now.Before(r.expiry())
}

// owners returns to whom each shard is assigned: nobody, if most of the living have another number of shards than
// this member, or as many have a larger one.
func (m *Member) owners(v *view) []string {
	living := map[int][]string{} // by number of shards
	for identity, r := range v.members {
		if r.count != 0 && r.term != "" && !m.isExpired(v, r) {
			living[r.count] = append(living[r.count], identity)
		}
	}
	own := living[m.opts.Shards]
	for n, some := range living {
		if len(some) > len(own) || len(some) == len(own) && n > m.opts.Shards {
			return make([]string, m.opts.Shards)
		}
	}
	return Assign(m.opts.Shards, own)
}

// freeLocked reports whether nobody works under the fence: it names no term, or one that has ended. A term has ended if
// its member's Lease names another one or none. A Lease that has expired is not enough: this member's watch may be slow.
//
// If the member's Lease is gone, somebody has deleted it, and its member may not know. Then the term is over when it
// would have expired, counted from when this member first saw that.
func (m *Member) freeLocked(v *view, fence record) bool {
	if owner, ok := v.members[identityOf(fence.term)]; ok || fence.term == "" {
		delete(m.goneSince, fence.term)
		return owner.term != fence.term || fence.term == ""
	}
	m.goneSince[fence.term] = cmp.Or(m.goneSince[fence.term], v.now)
	over := m.goneSince[fence.term].Add(fence.duration)
	v.lookAt(over)
	return !v.now.Before(over)
}

// decideLoop decides again whenever something may have changed, until ctx ends.
func (m *Member) decideLoop(ctx context.Context) {
	defer m.tell() // of what was let go at the end
	for {
		m.tell() // of what was lost meanwhile: only then can it be got again
		requests, next := m.decide()
		m.tell()
		if m.sendAll(ctx, requests); len(requests) > 0 { // if the watch does not show them soon, they are due again
			next = time.Now().Add(m.opts.RenewEvery())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(next)):
		case <-m.decideCh:
			time.Sleep(gatherFor)
		}
	}
}

// decide compares, shard by shard, to whom it is assigned with whom its fence names. It begins and ends work on
// shards, and returns the writes that are due, and when to decide again if nothing changes.
func (m *Member) decide() (due map[string]func(context.Context) error, next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.lookLocked()
	own := v.members[m.opts.Identity]
	if m.answered != nil && own.term != m.term && v.version >= versionOf(m.answered.ResourceVersion) { // it was lost
		m.term, m.answered, m.deadline = "", nil, time.Time{}
		m.dropLocked(0)
	}
	if m.leaving || own.term != m.term || !v.now.Before(m.deadline) {
		return nil, v.next // a member without a Lease decides nothing
	}
	owners := m.owners(v)
	isBusy := slices.ContainsFunc(v.foreign, func(fence record) bool { return !m.freeLocked(v, fence) })
	for s := range m.shards {
		m.decideShardLocked(v, s, v.members[owners[s]], isBusy)
	}
	m.tidyLocked(v, owners)
	return v.requests, v.next
}

// decideShardLocked is the life of a shard in one member. target is to whom it is assigned, if to anybody.
//
//	the fence names   assigned to   then
//	this term         this member   hold it; if this version was given away already, write the fence for this member
//	this term         another       stop, let reconciles finish, and write the other's term into the fence
//	this term         nobody        the same, with no term
//	no living term    this member   write this term into the fence, and hold it when the watch shows that
//
// isBusy says that somebody may work under a fence of another number of shards. Then it does neither write nor begin.
// Two members with different numbers may both write a fence. Who wrote later is shown both fences, and does not begin.
func (m *Member) decideShardLocked(v *view, s int, target record, isBusy bool) {
	sh, fence := &m.shards[s], v.fences[s]
	isNamed, isTarget := fence.term == m.term, target.identity == m.opts.Identity
	if !isTarget {
		sh.unowned = time.Time{}
	}
	switch {
	case isNamed && isTarget && fence.version > sh.given:
		if sh.ctx == nil && sh.told == nil && sh.pins == 0 && !isBusy {
			m.acquireLocked(s)
		}
	case isNamed:
		m.releaseLocked(s, m.opts.StopWithin())
		if sh.pins == 0 {
			sh.given = fence.version // also if the write seems to fail: it may arrive later
			m.writeFenceLocked(v, s, target)
		}
	case sh.ctx != nil: // somebody has deleted or edited the fence
		m.releaseLocked(s, 0)
	case isTarget && sh.pins == 0 && !isBusy && m.freeLocked(v, fence):
		former := v.members[identityOf(fence.term)]
		if sh.unowned = former.renewedAt; former.term != "" { // it has joined again
			sh.unowned = former.formerAt
		}
		m.writeFenceLocked(v, s, target)
	}
}

func (m *Member) writeFenceLocked(v *view, s int, target record) {
	name, duration := fenceName(m.opts.Name, m.opts.Shards, s), cmp.Or(target.duration, m.opts.LeaseDuration)
	m.writeLocked(v, with(v.fences[s].Lease, m.opts.Name, name, target.term, duration))
}

func (m *Member) writeLocked(v *view, l *coordinationv1.Lease) {
	v.requests[l.Name] = func(ctx context.Context) error {
		_, err := m.put(ctx, l)
		return err
	}
}

// tidyLocked takes the term out of the Leases of members that have expired, on condition that they were not renewed
// meanwhile. From then on their renewals fail. It deletes Leases of members that have ended, once no fence names them,
// and free fences of another number of shards. The members divide the deletions by the versions of the Leases.
func (m *Member) tidyLocked(v *view, owners []string) {
	named := map[string]bool{} // identities by fences
	for _, fence := range slices.Concat(v.fences, v.foreign) {
		named[identityOf(fence.term)] = true
	}
	remove := func(r record) {
		if owners[mix(r.version)%uint64(len(owners))] != m.opts.Identity {
			return
		}
		v.requests[r.Name] = func(ctx context.Context) error {
			return m.leases.Delete(ctx, r.Name, *metav1.NewRVDeletionPrecondition(r.ResourceVersion))
		}
	}
	for identity, r := range v.members {
		if m.isExpired(v, r) {
			m.writeLocked(v, with(r.Lease, m.opts.Name, r.Name, "", r.duration))
		} else if r.term == "" && !named[identity] && !v.now.Before(r.expiry()) { // a fence may be about to name it
			remove(r)
		}
	}
	for _, fence := range v.foreign {
		if m.freeLocked(v, fence) {
			remove(fence)
		}
	}
	maps.DeleteFunc(m.goneSince, func(term string, _ time.Time) bool { return !named[identityOf(term)] })
}

// sendAll makes the requests, which may take RenewEvery together.
func (m *Member) sendAll(ctx context.Context, requests map[string]func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, m.opts.RenewEvery())
	defer cancel()
	var running errgroup.Group
	running.SetLimit(parallelWrites)
	for _, send := range requests {
		running.Go(func() error { // another may be first
			return utilerrors.FilterOut(send(ctx), apierrors.IsConflict, apierrors.IsAlreadyExists, apierrors.IsNotFound)
		})
	}
	m.noteError(ctx, &m.writeErr, running.Wait())
}

// put writes a Lease. It fails if that was written or deleted since it was read.
func (m *Member) put(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if l.ResourceVersion == "" {
		return m.leases.Create(ctx, l, metav1.CreateOptions{})
	}
	return m.leases.Update(ctx, l, metav1.UpdateOptions{})
}
