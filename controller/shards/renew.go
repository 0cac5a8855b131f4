package shards

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
)

// renewLoop joins the group and renews the member's Lease until ctx ends. The error is that of a duplicate.
func (m *Member) renewLoop(ctx context.Context) error {
	if m.informer.WaitForSync(ctx) != nil {
		return nil
	}
	for {
		next := m.opts.RenewEvery()
		if l, term, err := m.due(ctx); err != nil {
			return err
		} else if term == "" || !m.renew(ctx, l, term) {
			next /= 4
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait.Jitter(next, 0.1)):
		}
	}
}

// due returns the member's Lease as the watch shows it, and the term to write into it, "" for none.
//
// What is written replaces the version that the watch shows. So a member whose watch is behind cannot renew, and the
// others get its shards. Otherwise it would keep those that are assigned to others, without knowing.
func (m *Member) due(ctx context.Context) (l *coordinationv1.Lease, term string, err error) {
	shown := versionOf(m.informer.Store().ResourceVersion()) // before the Lease, which may be newer
	l, _ = m.informer.Store().GetByKey(listwatch.Key{Namespace: m.opts.Namespace, Name: m.name})
	r, _ := read(m.opts.Name, l)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noteLocked(r); m.term != "" && r.term != m.term && shown >= m.joined {
		klog.FromContext(ctx).Info("The member's Lease is no longer its own: joining anew", "term", m.term)
		m.term, m.deadline = "", time.Time{}
		m.dropLocked(0)
	}
	switch {
	case m.term != "" && r.term == m.term:
		return l, m.term, nil
	case m.term != "": // the watch does not show yet that it has joined
	case m.leaving, m.pins > 0: // with reconciles of a former term, which others take for ended once there is another
	case r.term == "" || !time.Now().Before(m.seen[r.identity].expiry()):
		return l, fmt.Sprintf("%s/%d/%s", m.opts.Identity, m.opts.Shards, uuid.NewUUID()), nil
	case m.rivals > 1: // once may be a request of a dead process that was late
		return nil, "", fmt.Errorf("%w: %q is renewed by another process, as %s: give each an Identity of its own",
			ErrDuplicate, m.opts.Identity, r.term)
	}
	return nil, "", nil
}

// renew writes the member's Lease, and moves the deadline if the server took it. The deadline counts from before the
// request: when the answer comes, others may have seen the renewal long ago. A term whose first write seems to fail is
// not used again.
func (m *Member) renew(ctx context.Context, l *coordinationv1.Lease, term string) bool {
	request, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.opts.RenewEvery())
	defer cancel()
	l = with(l, m.opts.Name, m.name, term, m.opts.LeaseDuration)
	sent := time.Now()
	written, err := m.send(request, write{Lease: l})
	if m.failed(ctx, &m.renewErr, err); err != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.term != term {
		m.term, m.joined = term, versionOf(written.ResourceVersion)
	}
	m.deadline = sent.Add(m.opts.Validity())
	time.AfterFunc(time.Until(m.deadline), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !time.Now().Before(m.deadline) { // mostly it was moved
			m.dropLocked(0)
		}
	})
	m.wake()
	return true
}
