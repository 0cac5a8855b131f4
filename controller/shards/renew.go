package shards

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"glasswatch/listwatch"
)

var errBlind = errors.New("shards: the watch does not show this member's renewals: it stops renewing until it does")

func newTerm(identity string) string { return identity + "/" + string(uuid.NewUUID()) }

// renewLoop joins the group and renews the member's Lease until ctx ends. An error is that of a duplicate.
func (m *Member) renewLoop(ctx context.Context) error {
	for {
		pause, err := m.renew(ctx)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.renewCh:
		case <-time.After(wait.Jitter(pause, 0.1)):
		}
	}
}

// renew writes the member's Lease, if it may, and returns when to do so next. It may if the Lease is not there, is its
// own, has ended, or has expired. A former process of the same name that crashed is waited out so.
func (m *Member) renew(ctx context.Context) (pause time.Duration, err error) {
	pause = m.opts.RenewEvery / 4
	if !m.informer.HasSynced() {
		return pause, nil
	}
	l := m.newestOwn()
	m.mu.Lock()
	term, seen := m.term, m.seen[m.opts.Identity]
	blind := time.Since(m.caughtUp) > m.opts.LeaseDuration
	joined, busy, leaving := !m.deadline.IsZero(), m.pins > 0, m.leaving
	m.mu.Unlock()
	holder := ""
	if l != nil {
		holder = ptr.Deref(l.Spec.HolderIdentity, "")
	}
	switch {
	case blind && joined: // the watch does not show our renewals, so it hides others' moves: let the Lease expire
		m.failed(ctx, "watch", errBlind)
		return pause, nil
	case holder == term:
	case joined: // taken from us, or deleted
		m.mu.Lock()
		defer m.mu.Unlock()
		m.loseLocked(ctx)
		return 0, nil
	case leaving || busy: // with reconciles of the former term, which others may already take for ended
		return pause, nil
	case holder != "" && seen.term == holder && seen.repeats > 1:
		return 0, fmt.Errorf("%w: %q is renewed by another process, as %s: give each its own Identity",
			ErrDuplicate, m.opts.Identity, holder)
	case holder != "" && time.Now().Before(seen.at.Add(seen.lasts)):
		return pause, nil
	}
	if m.send(ctx, l, term, leaving) {
		pause = m.opts.RenewEvery
	}
	return pause, nil
}

// newestOwn returns the member's Lease, from the last answer to a write, or from the store once that has caught up with
// it. It is nil if it is not there.
func (m *Member) newestOwn() *coordinationv1.Lease {
	store := m.informer.Store().Snapshot()
	stored, _ := store.Get(listwatch.Key{Namespace: m.opts.Namespace, Name: memberName(m.opts.Name, m.opts.Identity)})
	reached, _ := strconv.ParseUint(store.ResourceVersion(), 10, 64)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.own == nil || reached >= versionOf(m.own) {
		m.own, m.caughtUp = stored, time.Now()
	}
	return m.own
}

// send writes the Lease with this term, and moves the deadline if the server took it. The deadline counts from before
// the request: when the answer comes, others may have seen the renewal long ago.
func (m *Member) send(ctx context.Context, l *coordinationv1.Lease, term string, leaving bool) (ok bool) {
	next := rewritten(l, m.opts.Name, memberName(m.opts.Name, m.opts.Identity), term, m.opts.LeaseDuration)
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, countAnnotation, fmt.Sprint(m.opts.Shards))
	delete(next.Annotations, leavingAnnotation)
	if leaving {
		next.Annotations[leavingAnnotation] = "true"
	}
	request, cancel := context.WithTimeout(ctx, m.opts.RenewEvery)
	defer cancel()
	sent := time.Now()
	written, err := m.write(request, next)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		m.reread(request, next.Name, term)
		return false
	}
	m.failed(ctx, "renew", err)
	if err != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own, m.announced = written, leaving
	if deadline := sent.Add(m.opts.validity()); m.term == term && deadline.After(m.deadline) {
		m.deadline = deadline
		m.armLocked()
	}
	wake(m.decideCh)
	return true
}

// reread finds out why the Lease could not be written: an answer was lost, somebody has edited the Lease, or the term is
// over.
func (m *Member) reread(ctx context.Context, name, term string) {
	l, err := m.leases.Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		m.failed(ctx, "renew", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.own = l
	}
	if err == nil && ptr.Deref(l.Spec.HolderIdentity, "") == term {
		wake(m.renewCh)
	} else if !m.deadline.IsZero() {
		m.loseLocked(ctx)
	}
}

// write creates or updates. An update carries UID and resourceVersion, so that it fails if the Lease was written or
// deleted since.
func (m *Member) write(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if l.ResourceVersion == "" {
		return m.leases.Create(ctx, l, metav1.CreateOptions{})
	}
	return m.leases.Update(ctx, l, metav1.UpdateOptions{})
}

// loseLocked ends the term: another has the member's Lease, or it is gone. The next term has another nonce.
func (m *Member) loseLocked(ctx context.Context) {
	klog.FromContext(ctx).Info("The member's Lease is no longer its own: joining anew", "term", m.term)
	m.term, m.deadline = newTerm(m.opts.Identity), time.Time{}
	seen := m.seen[m.opts.Identity]
	seen.repeats = 0 // they were our own
	m.seen[m.opts.Identity] = seen
	m.expireLocked()
}

// armLocked lets expireLocked run at the deadline.
func (m *Member) armLocked() {
	if m.expiry != nil {
		m.expiry.Stop()
	}
	m.expiry = time.AfterFunc(time.Until(m.deadline), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !time.Now().Before(m.deadline) {
			m.expireLocked()
		}
	})
}

// expireLocked lets all shards go and cancels their reconciles. The fences still name the term. It may go on if a
// renewal succeeds before another member revokes it.
func (m *Member) expireLocked() {
	for s := range m.shards {
		m.releaseLocked(s, 0)
	}
	wake(m.decideCh)
	wake(m.renewCh)
}

// leave hands the shards over, and gives the member's Lease up once no reconcile is left.
func (m *Member) leave(ctx context.Context) {
	m.mu.Lock()
	m.leaving = true
	for s := range m.shards {
		m.releaseLocked(s, m.opts.LeaseDuration)
	}
	m.mu.Unlock()
	wake(m.renewCh) // with the word that it leaves, so that nobody hands it anything
	wake(m.decideCh)
	for !m.hasLeft() {
		select {
		case <-m.leftCh:
		case <-time.After(m.opts.RenewEvery / 4):
		}
	}
	l := m.newestOwn()
	m.mu.Lock()
	term := m.term
	if m.expiry != nil {
		m.expiry.Stop()
	}
	m.mu.Unlock()
	if l == nil || ptr.Deref(l.Spec.HolderIdentity, "") != term {
		return
	}
	request, cancel := context.WithTimeout(ctx, m.opts.RenewEvery)
	defer cancel()
	if _, err := m.write(request, rewritten(l, m.opts.Name, l.Name, "", m.opts.LeaseDuration)); err != nil {
		klog.FromContext(ctx).Info("The member's Lease was not given up, and will expire", "err", err)
	}
}

// hasLeft reports whether no reconcile runs, and each shard that others can take is theirs. After the deadline
// the latter is up to them.
func (m *Member) hasLeft() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pins == 0 && (m.handedOver || !time.Now().Before(m.deadline))
}
