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
)

var errBlind = errors.New("shards: the watch does not show this member's renewals, so it stops renewing until it does")

// renewal is what the goroutine that renews knows, and no other.
type renewal struct {
	rival    sighting  // another process that has our Lease,
	repeats  int       // and how often it was seen to renew
	caughtUp time.Time // when the watch had last shown all our renewals
}

func newTerm(identity string) string { return identity + "/" + string(uuid.NewUUID()) }

// renewLoop joins the group and renews the member's Lease until ctx ends. The error is that of a duplicate.
func (m *Member) renewLoop(ctx context.Context) error {
	if m.informer.WaitForSync(ctx) != nil {
		return nil
	}
	for {
		next, err := m.renew(ctx)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.renewCh:
		case <-time.After(wait.Jitter(next, 0.1)):
		}
	}
}

// renew joins or renews, if it may, and returns when to call it next.
func (m *Member) renew(ctx context.Context) (next time.Duration, err error) {
	next = m.opts.RenewEvery / 4
	m.mu.Lock()
	joined, busy := !m.deadline.IsZero(), m.pins > 0 || m.leaving
	m.mu.Unlock()
	switch {
	case !joined && busy: // with reconciles of the former term, which others take for ended once there is another
		return next, nil
	case !joined:
		if may, err := m.mayJoin(ctx); !may {
			return next, err
		}
	case m.isBlind(): // it hides the others' moves, too: let them take the shards
		m.failed(ctx, "watch", errBlind)
		return next, nil
	}
	if m.send(ctx) {
		next = m.opts.RenewEvery
	}
	return next, nil
}

// mayJoin reports whether the member's Lease is not there, or has ended or expired. A former process of the name that
// crashed is waited out. One that renews is a duplicate.
func (m *Member) mayJoin(ctx context.Context) (ok bool, err error) {
	m.caughtUp = time.Now()
	l, err := m.get(ctx)
	if err != nil || l == nil {
		return err == nil, nil
	}
	r, _ := read(m.opts.Name, l)
	switch before := m.rival; {
	case r.term == "" || r.term == m.term: // the latter if an answer was lost
		return true, nil
	case r.version == before.version:
		return !time.Now().Before(before.expiry()), nil
	case r.term == before.term:
		m.repeats++ // once may be a request of a dead process that was late
	default:
		m.repeats = 0
	}
	m.rival = sighting{r, time.Now()}
	if m.repeats > 1 {
		return false, fmt.Errorf("%w: %q is renewed by another process, as %s: give each an Identity of its own",
			ErrDuplicate, m.opts.Identity, r.term)
	}
	return false, nil
}

// isBlind reports whether the watch has been behind the member's own renewals for a whole LeaseDuration.
func (m *Member) isBlind() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if versionOf(m.informer.Store().ResourceVersion()) >= versionOf(m.own.ResourceVersion) {
		m.caughtUp = time.Now()
	}
	return time.Since(m.caughtUp) > m.opts.LeaseDuration
}

// get reads the member's own Lease. It is nil if it is not there.
func (m *Member) get(ctx context.Context) (*coordinationv1.Lease, error) {
	request, cancel := context.WithTimeout(ctx, m.opts.RenewEvery)
	defer cancel()
	l, err := m.leases.Get(request, memberName(m.opts.Name, m.opts.Identity), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		l, err = nil, nil
	}
	m.failed(ctx, "renew", err)
	if err == nil {
		m.mu.Lock()
		m.own = l
		m.mu.Unlock()
	}
	return l, err
}

// send writes the member's Lease, and moves the deadline if the server took it. The deadline counts from before the
// request: when the answer comes, others may have seen the renewal long ago.
func (m *Member) send(ctx context.Context) (ok bool) {
	m.mu.Lock()
	l := with(m.own, m.opts.Name, memberName(m.opts.Name, m.opts.Identity), m.term, m.opts.LeaseDuration)
	metav1.SetMetaDataAnnotation(&l.ObjectMeta, countAnnotation, strconv.Itoa(m.opts.Shards))
	delete(l.Annotations, leavingAnnotation)
	if m.leaving {
		l.Annotations[leavingAnnotation] = "true"
	}
	m.mu.Unlock()
	request, cancel := context.WithTimeout(ctx, m.opts.RenewEvery)
	defer cancel()
	sent := time.Now()
	written, err := m.put(request, l)
	m.failed(ctx, "renew", err)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		m.resolve(ctx)
	}
	if err != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own, m.deadline = written, sent.Add(m.opts.validity())
	if m.expiry != nil {
		m.expiry.Stop()
	}
	m.expiry = time.AfterFunc(time.Until(m.deadline), m.expire)
	wake(m.decideCh)
	return true
}

// resolve finds out why the Lease could not be written. An answer was lost, or somebody has edited it: then it is
// written again. Or another has it, or it is gone: then the term is over, and the next has another nonce.
func (m *Member) resolve(ctx context.Context) {
	l, err := m.get(ctx)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	wake(m.renewCh)
	if r, _ := read(m.opts.Name, l); r.term != m.term && !m.deadline.IsZero() {
		klog.FromContext(ctx).Info("The member's Lease is no longer its own: joining anew", "term", m.term)
		m.term, m.deadline = newTerm(m.opts.Identity), time.Time{}
		m.dropLocked()
	}
}

// put creates or updates a Lease. An update fails if the Lease was written or deleted since it was read.
func (m *Member) put(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if l.ResourceVersion == "" {
		return m.leases.Create(ctx, l, metav1.CreateOptions{})
	}
	return m.leases.Update(ctx, l, metav1.UpdateOptions{})
}

// expire is called at the deadline, as it was when the timer was set.
func (m *Member) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !time.Now().Before(m.deadline) {
		m.dropLocked()
	}
}

// dropLocked lets all shards go, and cancels their reconciles. The fences still name the term. If a renewal succeeds
// before somebody revokes it, it goes on.
func (m *Member) dropLocked() {
	for s := range m.shards {
		m.releaseLocked(s, 0)
	}
	wake(m.decideCh)
}

// handOver lets all shards go, and waits until no reconcile runs and others have the shards that they can have. After
// the deadline they take them by themselves.
func (m *Member) handOver() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaving = true
	for s := range m.shards {
		m.releaseLocked(s, m.opts.StopWithin)
	}
	wake(m.renewCh) // to say that it leaves
	for m.pins > 0 || !m.handedOver && time.Now().Before(m.deadline) {
		m.mu.Unlock()
		time.Sleep(2 * gatherFor)
		m.mu.Lock()
	}
}

// end gives the member's Lease up. Nothing renews it any more, and no reconcile runs.
func (m *Member) end(ctx context.Context) {
	if m.expiry != nil {
		m.expiry.Stop()
	}
	request, cancel := context.WithTimeout(ctx, m.opts.RenewEvery)
	defer cancel()
	if r, _ := read(m.opts.Name, m.own); r.term == m.term {
		_, err := m.put(request, with(m.own, m.opts.Name, m.own.Name, "", m.opts.LeaseDuration))
		m.failed(ctx, "renew", err)
	}
}
