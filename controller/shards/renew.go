package shards

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"

	"glasswatch/listwatch"
)

// renewLoop joins the group and renews the member's Lease until ctx ends. The error is that of a duplicate.
func (m *Member) renewLoop(ctx context.Context) error {
	if m.informer.WaitForSync(ctx) != nil {
		return nil
	}
	for {
		next := m.opts.RenewEvery()
		l, err := m.leaseToSend()
		if err != nil {
			return err
		}
		if l == nil || !m.renew(ctx, l) {
			next /= 4
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait.Jitter(next, 0.1)):
		}
	}
}

// leaseToSend returns the member's Lease as it is to be written, nil if it may not be written now. It begins a new term
// if there is none.
//
// What is written replaces the version that the watch shows. So a member whose watch is behind cannot renew, and the
// others get its shards. If it could renew, it would keep shards that are assigned to others by now.
func (m *Member) leaseToSend() (*coordinationv1.Lease, error) {
	l, _ := m.informer.Store().GetByKey(listwatch.Key{Namespace: m.opts.Namespace, Name: m.name})
	m.mu.Lock()
	defer m.mu.Unlock()
	var r record
	if l != nil {
		r = m.noteLocked(m.opts.read(l))
	}
	isOver := r.term == "" || !time.Now().Before(r.expiry())
	switch {
	case m.term != "" && r.term == m.term: // also if the first answer was lost
	case m.answered != nil: // the watch does not show yet that it has joined, or that it has lost its Lease
		return nil, nil
	case isOver && m.pins == 0 && !m.leaving: // a new term tells others that the reconciles of the old one have returned
		m.term = fmt.Sprintf("%s/%d/%s", m.opts.Identity, m.opts.Shards, uuid.NewUUID())
	case r.renewals > 1: // a single one may be the late request of a process that is dead
		return nil, fmt.Errorf("%w: %q is renewed by another process, as %s: give each an Identity of its own",
			ErrDuplicate, m.opts.Identity, r.term)
	default:
		return nil, nil
	}
	return with(l, m.opts.Name, m.name, m.term, m.opts.LeaseDuration), nil
}

// renew writes the member's Lease, and moves the deadline if the server took it. The deadline counts from before the
// request: when the answer comes, others may have seen the renewal long ago. If the deadline is over by then, its timer
// may be late, and Begin may have refused a reconcile. So the shards are lost: OnChange tells when they come back.
func (m *Member) renew(ctx context.Context, l *coordinationv1.Lease) (ok bool) {
	request, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.opts.RenewEvery())
	defer cancel()
	sent := time.Now()
	written, err := m.put(request, l)
	m.noteError(ctx, &m.renewErr, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || *l.Spec.HolderIdentity != m.term { // the Lease may be lost again
		return false
	}
	if !time.Now().Before(m.deadline) { // or there was none
		m.dropLocked(0)
	}
	m.answered, m.deadline = written, sent.Add(m.opts.Validity())
	m.expiry.Reset(time.Until(m.deadline))
	m.wake()
	return true
}

// expire is the timer's function. The deadline may have moved since the timer was set.
func (m *Member) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !time.Now().Before(m.deadline) {
		m.dropLocked(0)
	}
}
