package shards

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	parallelWrites = 16                    // Leases that a member writes at a time, beside its own
	gatherFor      = 10 * time.Millisecond // a decision waits for more changes: they come in crowds
)

// write is a request that replaces one version of a Lease.
type write struct {
	*coordinationv1.Lease
	isDelete bool
}

// decideLoop decides again whenever something may have changed, until ctx ends.
func (m *Member) decideLoop(ctx context.Context) {
	defer m.tell() // of what was let go at the end
	for {
		due, next := m.decide()
		m.tell()
		err := m.writeAll(ctx, due)
		if m.failed(ctx, &m.writeErr, err); err != nil {
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
func (m *Member) decide() (due map[string]write, next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.lookLocked()
	if own := v.members[m.opts.Identity]; m.leaving || own.term != m.term || !v.now.Before(m.deadline) {
		return nil, v.wake // a member without a Lease decides nothing
	}
	owners := m.ownersLocked(v)
	for s := range m.shards {
		var target record
		if owners != nil {
			target = v.members[owners[s]]
		}
		m.decideShardLocked(v, s, target)
	}
	if owners != nil {
		m.tidyLocked(v, owners)
	}
	return v.due, v.wake
}

// decideShardLocked is the life of a shard in one member. target is to whom it is assigned, if to anybody.
//
//	the fence names   assigned to   then
//	this term         this member   hold it; if this version was given away already, write the fence once more
//	this term         another       stop, let reconciles finish, and write the other's term into the fence
//	this term         nobody        the same, with no term
//	nobody alive      this member   write this term into the fence, and hold it when the watch shows that
//
// Fences of another number of shards that are not free keep it from both. Of two members with different numbers each
// first writes its fence, and holds the shard when the watch shows that. The later one is then shown the other's, too.
func (m *Member) decideShardLocked(v *view, s int, target record) {
	sh, fence := &m.shards[s], v.fences[s]
	named, mine := fence.term == m.term, target.identity == m.opts.Identity
	if owner := v.members[identityOf(fence.term)]; m.expiredLocked(v, owner) {
		sh.idle = m.seen[owner.identity].at
	} else if !mine || sh.held {
		sh.idle = time.Time{}
	}
	switch {
	case named && mine && fence.version > sh.given:
		if !sh.held && sh.pins == 0 && !v.busy {
			m.acquireLocked(s)
		}
	case named:
		m.releaseLocked(s, m.opts.StopWithin())
		if sh.pins == 0 {
			sh.given = fence.version // also if the write seems to fail: it may arrive later
			m.writeFenceLocked(v, s, target)
		}
	case sh.held: // this cannot be while all keep to the rules
		m.releaseLocked(s, 0)
	case mine && sh.pins == 0 && !v.busy && m.freeLocked(v, fence):
		m.writeFenceLocked(v, s, target)
	}
}

func (m *Member) writeFenceLocked(v *view, s int, target record) {
	name, lasts := fenceName(m.opts.Name, m.opts.Shards, s), cmp.Or(target.lasts, m.opts.LeaseDuration)
	v.due[name] = write{Lease: with(v.fences[s].Lease, m.opts.Name, name, target.term, lasts)}
}

// tidyLocked deletes Leases of members that have ended or expired, once no fence names them, and free fences of another
// number of shards. The members divide this by the versions of the Leases.
func (m *Member) tidyLocked(v *view, owners []string) {
	named := map[string]bool{} // identities by fences
	for _, fence := range slices.Concat(v.fences, v.foreign) {
		named[identityOf(fence.term)] = fence.term != ""
	}
	for _, r := range slices.Concat(slices.Collect(maps.Values(v.members)), v.foreign) {
		over := m.freeLocked(v, r)
		if r.identity != "" {
			over = !named[r.identity] && (r.term == "" || m.expiredLocked(v, r))
		}
		if over && owners[mix(r.version)%uint64(len(owners))] == m.opts.Identity {
			v.due[r.Name] = write{r.Lease, true}
		}
	}
	maps.DeleteFunc(m.seen, func(identity string, _ record) bool {
		return v.members[identity].Lease == nil && !named[identity]
	})
}

// writeAll makes the requests, which may take RenewEvery together. What fails is decided on again.
func (m *Member) writeAll(ctx context.Context, due map[string]write) error {
	ctx, cancel := context.WithTimeout(ctx, m.opts.RenewEvery())
	defer cancel()
	var requests errgroup.Group
	requests.SetLimit(parallelWrites)
	for _, w := range due {
		requests.Go(func() error {
			_, err := m.send(ctx, w)
			return err
		})
	}
	return requests.Wait()
}

// send makes one request. It fails if the Lease was written or deleted since it was read.
func (m *Member) send(ctx context.Context, w write) (*coordinationv1.Lease, error) {
	switch {
	case w.isDelete:
		return nil, m.leases.Delete(ctx, w.Name, *metav1.NewRVDeletionPrecondition(w.ResourceVersion))
	case w.ResourceVersion == "":
		return m.leases.Create(ctx, w.Lease, metav1.CreateOptions{})
	}
	return m.leases.Update(ctx, w.Lease, metav1.UpdateOptions{})
}
